"""TER of lines so long that a search for shifts would take hours."""

from __future__ import annotations

import logging
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.ter import TER

from dragoman.evaluation.bounded_ter import MOST_WORDS, edit_distance
from dragoman.evaluation.metrics import EvaluationConfig, score_corpus

CONFIG = EvaluationConfig(metrics=("ter",))
words = st.lists(st.sampled_from("abcd"), max_size=7)


def distance(one: list[str], other: list[str]) -> int:
    """The recursion of Levenshtein's distance as it is defined."""
    if not one or not other:
        return len(one) + len(other)
    same = distance(one[1:], other[1:])
    if one[0] == other[0]:
        return same
    return 1 + min(same, distance(one[1:], other), distance(one, other[1:]))


@given(one=words, other=words)
@settings(deadline=None)
def test_the_edit_distance_is_that_of_its_definition(one: list[str], other: list[str]) -> None:
    assert edit_distance(one, other) == distance(one, other)


def shuffled(count: int, seed: int) -> tuple[str, str]:
    """A line of different words, and the same with some of them moved."""
    draw = random.Random(seed)
    line = [str(number) for number in range(count)]
    moved = list(line)
    for _ in range(count // 20):
        moved.insert(draw.randrange(count), moved.pop(draw.randrange(count)))
    return " ".join(moved), " ".join(line)


def test_a_line_of_thousands_of_words_is_scored_without_shifts_and_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    long, reference = shuffled(5000, 1)
    (score,) = score_corpus(["a c b", long], [["a b c", reference]], CONFIG)
    # One shift in the short line; in the long one, each word that moved is two edits at most.
    edits = 1 + edit_distance(long.split(), reference.split())
    assert score.value == pytest.approx(100 * edits / 5003)
    assert 250 < edits <= 1 + 2 * 250
    assert "|noshift:>500w" in score.signature
    assert caplog.messages == [
        "ter: 1 line with more than 500 words; their words are compared without shifts, which "
        "counts at least as many edits"
    ]


def test_lines_of_usual_length_have_the_score_of_sacrebleu(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    lines, references = zip(*(shuffled(30, seed) for seed in range(5)), strict=True)
    (score,) = score_corpus(lines, [references], CONFIG)
    assert score.value == pytest.approx(TER().corpus_score(lines, [references]).score)
    assert "noshift" not in score.signature
    assert not caplog.messages


def test_the_bound_is_of_the_longer_side() -> None:
    line = " ".join(["a"] * (MOST_WORDS + 1))
    for one, other in ((line, "a"), ("a", line)):
        (score,) = score_corpus([one], [[other]], CONFIG)
        assert "noshift" in score.signature
