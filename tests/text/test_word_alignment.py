"""Word alignment: against a plain implementation of the same model, and on known links."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text import word_alignment
from dragoman.text.word_alignment import align, symmetrised

words = st.lists(st.sampled_from("abcde"), max_size=5)
corpora = st.lists(st.tuples(words, words), max_size=6)
Pairs = Sequence[tuple[Sequence[str], Sequence[str]]]


def digamma(value: float) -> float:
    """By the recurrence and the series of the logarithm, as in any textbook."""
    shift = 0.0
    while value < 20:
        shift -= 1 / value
        value += 1
    return shift + math.log(value) - 1 / (2 * value) - 1 / (12 * value**2) + 1 / (120 * value**4)


def plain_links(pairs: Pairs, rounds: int) -> list[set[tuple[int, int]]]:
    """fast_align's model with dictionaries and loops."""
    vocabulary = {word for _, target in pairs for word in target}
    table: dict[tuple[str | None, str], float] = defaultdict(lambda: 1 / max(1, len(vocabulary)))

    def cells(source: Sequence[str], target: Sequence[str], j: int) -> list[float]:
        near = [
            math.exp(-4 * abs((i + 0.5) / len(source) - (j + 0.5) / len(target)))
            for i in range(len(source))
        ]
        scores = [0.08 * table[None, target[j]]]
        scores += [
            0.92 * weight / sum(near) * table[word, target[j]]
            for word, weight in zip(source, near, strict=True)
        ]
        return [score / sum(scores) for score in scores]

    for _ in range(rounds):
        counts: dict[tuple[str | None, str], float] = defaultdict(float)
        for source, target in pairs:
            for j in range(len(target)):
                for maker, share in zip([None, *source], cells(source, target, j), strict=True):
                    counts[maker, target[j]] += share
        totals: dict[str | None, float] = defaultdict(float)
        for (maker, _), count in counts.items():
            totals[maker] += count + 0.01
        for key, count in counts.items():
            table[key] = math.exp(digamma(count + 0.01) - digamma(totals[key[0]]))
    found = []
    for source, target in pairs:
        best = [
            max(enumerate(cells(source, target, j)), key=lambda one: one[1])
            for j in range(len(target))
        ]
        found.append({(i - 1, j) for j, (i, _) in enumerate(best) if i})
    return found


@settings(max_examples=25)
@given(pairs=corpora, rounds=st.integers(0, 3), block=st.sampled_from([1, 20, 1000]))
def test_links_are_those_of_a_plain_implementation(pairs: Pairs, rounds: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_alignment, "_BLOCK_CELLS", block)
        found = list(align(pairs, rounds=rounds))
    forward = plain_links(pairs, rounds)
    backward = [
        {(i, j) for j, i in links}
        for links in plain_links([(target, source) for source, target in pairs], rounds)
    ]
    ours = [one.sure for one in found]
    # Where two links are equally likely, rounding decides.
    same = sum(a == b & c for a, b, c in zip(ours, forward, backward, strict=True))
    assert same >= len(pairs) - 1 if rounds else True
    for one, (source, target) in zip(found, pairs, strict=True):
        assert one.sure <= one.all
        assert all(i < len(source) and j < len(target) for i, j in one.all)


def test_words_that_occur_together_are_linked() -> None:
    english = ["the house", "the book", "a book", "the old house", "a house", "my book"] * 3
    german = ["das Haus", "das Buch", "ein Buch", "das alte Haus", "ein Haus", "mein Buch"] * 3
    pairs = [(e.split(), g.split()) for e, g in zip(english, german, strict=True)]
    told: list[int] = []
    found = list(align(pairs, progress=told.append))
    assert found[3].sure == {(0, 0), (1, 1), (2, 2)}
    assert found[2].sure == {(0, 0), (1, 1)}
    assert told == list(range(1, 11))
    assert [one.all for one in found] == [one.all for one in align(pairs)]


def test_an_empty_corpus_has_no_links() -> None:
    assert list(align([])) == []
    assert [one.all for one in align([([], ["a"]), (["a"], []), ([], [])])] == [frozenset()] * 3


@given(
    one=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))),
    other=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))),
)
def test_symmetrised_links_lie_between_intersection_and_union(
    one: set[tuple[int, int]], other: set[tuple[int, int]]
) -> None:
    found = symmetrised(one, other, 5, 5)
    assert found.sure == one & other
    assert one & other <= found.all <= one | other
    assert found == symmetrised(other, one, 5, 5) or one != other
    # The last step leaves no link of two words that have none.
    for i, j in one | other:
        assert any(i == a or j == b for a, b in found.all)


def test_neighbours_of_sure_links_are_added_as_in_moses() -> None:
    found = symmetrised({(0, 0), (1, 1), (2, 3)}, {(0, 0), (1, 0)}, 3, 4)
    assert found.sure == {(0, 0)}
    assert found.all == {(0, 0), (1, 0), (1, 1), (2, 3)}


@given(st.floats(0.005, 500))
def test_digamma_is_the_derivative_of_the_logarithm_of_gamma(value: float) -> None:
    step = value * 1e-4
    derivative = (math.lgamma(value + step) - math.lgamma(value - step)) / (2 * step)
    (found,) = word_alignment._digamma(np.array([value]))
    assert found == pytest.approx(derivative, rel=1e-4, abs=1e-4)
