"""Outputs that contain phrases: against looking at every output, and against plain search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from table_scorer import VOCABULARY, PositionScorer, TableScorer, random_table, spoiled
from torch import Tensor

from dragoman.data.batches import pad_sources
from dragoman.search import Ensemble, FusedScorer, Hypothesis, SearchConfig, search
from dragoman.search.phrases import Phrase, Spelling, WordEdges
from dragoman.text.vocabularies import EOS

PIECES = range(4, VOCABULARY)
GLUED = 7  # the only piece that may join to the word before it; 6 ends outside of words
EDGES = WordEdges(torch.arange(VOCABULARY) != 6, torch.arange(VOCABULARY) == GLUED)


def phrase(*spellings: Sequence[int]) -> Phrase:
    """Spellings whose first and last pieces say where they may occur."""
    return [
        Spelling(tuple(ids), after_word=ids[0] != 4, within_word=ids[-1] != 5) for ids in spellings
    ]


def places(ids: Sequence[int], one: Phrase) -> list[tuple[int, int]]:
    """Where a phrase occurs."""
    found = []
    for spelling in one:
        size = len(spelling.ids)
        for start in range(len(ids) - size + 1):
            after, before = ids[start + size : start + size + 1], ids[max(0, start - 1) : start]
            if (
                tuple(ids[start : start + size]) == spelling.ids
                and (spelling.after_word or not before or before[0] == 6)
                and (spelling.within_word or not after or after[0] != GLUED)
            ):
                found.append((start, start + size))
    return found


def contains(ids: Sequence[int], phrases: Sequence[Phrase]) -> bool:
    """Whether all phrases occur, none of them overlapping."""
    return any(
        all(a[1] <= b[0] for a, b in zip(sorted(chosen), sorted(chosen)[1:], strict=False))
        for chosen in product(*(places(ids, one) for one in phrases))
    )


def brute_force(
    scorer: TableScorer, first: int, limit: int, alpha: float, phrases: Sequence[Phrase]
) -> list[tuple[float, list[int]]]:
    """All outputs with the phrases, best first."""
    found: list[tuple[float, list[int]]] = []
    waiting: list[tuple[float, list[int]]] = [(0.0, [])]
    for total, ids in waiting:
        scores = scorer.after(first, ids).tolist()
        if contains(ids, phrases):
            found.append(((total + scores[EOS]) / ((6 + len(ids)) / 6) ** alpha, ids))
        if len(ids) < limit:
            waiting += [(total + scores[piece], [*ids, piece]) for piece in PIECES]
    return sorted(found, key=lambda output: (-output[0], output[1]))


def constrained(
    scorer: TableScorer,
    lines: Sequence[Sequence[int]],
    phrases: Sequence[Sequence[Phrase]],
    **options: object,
) -> list[list[Hypothesis]]:
    config = SearchConfig(**options)
    return search(scorer, *pad_sources(lines), config, phrases=phrases, edges=EDGES)


ids = st.lists(st.sampled_from([4, 5, 6]), min_size=1, max_size=2)


def _one_reading(phrases: list[Phrase]) -> bool:
    """Whether what an output counts for is never a choice that would have to be made again."""
    for phrase, other in product(phrases, repeat=2):
        for one, another in product(phrase, other):
            same = phrase is other or len(phrase) == len(other) == 1
            if one.ids == another.ids and not same:
                return False
            if one.ids != another.ids and one.ids[-len(another.ids) :] == another.ids:
                return False
    return True


spellings = st.lists(ids, min_size=1, max_size=2, unique_by=tuple)
drawn_phrases = st.lists(st.builds(lambda drawn: phrase(*drawn), spellings), max_size=2).filter(
    _one_reading
)


@settings(max_examples=25)
@given(
    table=st.builds(random_table, st.integers(0, 9999), st.sampled_from([0.5, 2.0])),
    phrases=drawn_phrases,
    alpha=st.sampled_from([0.0, 0.6]),
    nbest=st.integers(1, 3),
)
def test_a_beam_as_wide_as_the_space_finds_the_best(
    table: Tensor, phrases: list[Phrase], alpha: float, nbest: int
) -> None:
    scorer = TableScorer(table)
    (found,) = constrained(
        scorer,
        [[5, 6]],
        [phrases],
        beam=256,
        nbest=nbest,
        extra_length=2,
        length_penalty=alpha,
    )
    expected = brute_force(scorer, 5, 4, alpha, phrases)[:nbest]
    if not expected:
        return
    assert [one.ids for one in found if contains(one.ids, phrases)] == [ids for _, ids in expected]
    for one, (score, _) in zip(found, expected, strict=True):
        assert one.score == pytest.approx(score)
        given = [one.ids[:place] for place in range(len(one.ids) + 1)]
        each = [
            float(scorer.after(5, before)[piece])
            for before, piece in zip(given, [*one.ids, EOS], strict=True)
        ]
        assert one.token_scores == pytest.approx(each)


tables = st.builds(random_table, st.integers(0, 9999), st.sampled_from([0.5, 2.0, 5.0]))
LINES = [[5, 6, 7, 4], [6], [7, 7]]


@settings(max_examples=10)
@given(table=tables, beam=st.integers(2, 5), early_end=st.sampled_from(["exact", "quick"]))
def test_without_phrases_it_is_beam_search(table: Tensor, beam: int, early_end: str) -> None:
    scorer = TableScorer(table)
    options = {"beam": beam, "nbest": beam, "extra_length": 5, "early_end": early_end}
    expected = search(scorer, *pad_sources(LINES), SearchConfig(**options))
    assert constrained(scorer, LINES, [[], [], []], **options) == expected


@settings(max_examples=10)
@given(table=tables, phrases=st.tuples(*[drawn_phrases] * 3), beam=st.integers(5, 7))
def test_neighbours_change_nothing_and_phrases_are_there(
    table: Tensor, phrases: tuple[list[Phrase], ...], beam: int
) -> None:
    scorer = TableScorer(table)
    options = {"beam": beam, "nbest": 2, "extra_length": 5}
    together = constrained(scorer, LINES, phrases, **options)
    for line, own, found in zip(LINES, phrases, together, strict=True):
        assert constrained(scorer, [line], [own], **options) == [found]
        # Only a phrase that may not follow a word can be late.
        assert all(contains(one.ids, own) for one in found if found[0].ended)


@settings(max_examples=10)
@given(seed=st.integers(0, 999), phrases=st.tuples(*[drawn_phrases] * 3))
def test_a_broken_scorer_ends_too(seed: int, phrases: tuple[list[Phrase], ...]) -> None:
    scorer = TableScorer(spoiled(random_table(seed, 2.0), seed, 0.3))
    found = constrained(scorer, LINES, phrases, beam=3, nbest=2, extra_length=4)
    for line, hypotheses in zip(LINES, found, strict=True):
        assert hypotheses
        assert all(len(one.ids) <= len(line) + 4 for one in hypotheses)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 9999),
    share=st.sampled_from([0.3, 0.9]),
    phrases=st.lists(st.lists(st.integers(4, 7), min_size=1, max_size=2), max_size=3),
    beam=st.sampled_from([2, 3, 8]),
    ngram=st.integers(0, 2),
)
@example(seed=6, share=0.3, phrases=[[4], [5]], beam=8, ngram=0)
def test_a_broken_scorer_and_words_that_must_end(
    seed: int, share: float, phrases: list[list[int]], beam: int, ngram: int
) -> None:
    """Whatever stands beside it, a sentence has an output, without its phrases if need be."""
    scorer = TableScorer(spoiled(random_table(seed, 2.0), seed, share))
    words = [[Spelling(tuple(ids), after_word=True, within_word=False)] for ids in phrases]
    wanted = [words, words[1:], words]
    options = {"beam": beam, "extra_length": 4, "no_repeat_ngram": ngram}
    together = constrained(scorer, LINES, wanted, **options)
    for line, own, found in zip(LINES, wanted, together, strict=True):
        assert constrained(scorer, [line], [own], **options) == [found]
        (best,) = found
        assert set(best.ids) <= set(PIECES)
        assert math.isfinite(best.log_probability)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_word_may_end_where_some_scores_are_no_numbers(value: float) -> None:
    """The likeliest piece that leaves the first word whole is one with a probability."""
    scorer = PositionScorer({4: 0.5, 5: 0.5}, {5: 0.3, 6: 0.7}, {EOS: 1.0})
    scorer.table[1, 4] = value
    words = [[Spelling((piece,), after_word=True, within_word=False)] for piece in (4, 5)]
    (found,) = constrained(scorer, [[5, 6, 4]], [words], beam=8, extra_length=4)
    assert found[0].ids == [4, 5]


def test_a_word_that_must_end_ends_where_nothing_may_follow() -> None:
    scorer = PositionScorer({4: 1.0}, {})
    words = [[Spelling((piece,), after_word=True, within_word=False)] for piece in (4, GLUED)]
    (found,) = constrained(scorer, [[5]], [words], beam=4, extra_length=4)
    assert found[0].ids


def test_the_furthest_is_returned_where_the_limit_comes_first() -> None:
    """Three pieces of four: the second phrase is begun, whatever is likelier."""
    for seed in range(4):
        scorer = TableScorer(random_table(seed, 1.0))
        wanted = [phrase([4, 5]), phrase([6, 4])]
        (found,) = constrained(scorer, [[5]], [wanted], maximum_length=3, beam=6)
        assert found[0].ids == [4, 5, 6]
        assert not found[0].ended


def test_a_prefix_comes_first_and_counts() -> None:
    scorer = TableScorer(random_table(2, 1.0))
    source, mask = pad_sources([[5, 6], [5, 6]])
    (counted, after) = search(
        scorer,
        source,
        mask,
        SearchConfig(beam=3),
        prefixes=[[7, 6, 4], [7, 7]],
        phrases=[[phrase([6, 4])]] * 2,
        edges=EDGES,
    )
    plain = search(scorer, source, mask, SearchConfig(beam=3), prefixes=[[7, 6, 4], [7, 7]])
    assert counted[0].ids == plain[0][0].ids
    assert after[0].ids[:2] == [7, 7]
    assert contains(after[0].ids, [phrase([6, 4])])


def test_phrases_may_contain_what_is_forbidden_otherwise() -> None:
    scorer = TableScorer(random_table(3, 1.0))
    wanted = [phrase([4, 6]), phrase([4, 6])]
    (found,) = search(
        scorer,
        *pad_sources([[5, 6]]),
        SearchConfig(beam=4, no_repeat_ngram=2),
        never=[6],
        phrases=[wanted],
        edges=EDGES,
    )
    assert contains(found[0].ids, wanted)
    assert found[0].ids.count(6) == 2


def test_many_pieces_share_a_narrow_beam() -> None:
    """There are more pieces than hypotheses, and every phrase is met all the same."""
    scorer = TableScorer(random_table(4, 2.0))
    wanted = [phrase([4, 6]), phrase([6, 6]), phrase([7, 6, 7])]
    (found,) = constrained(scorer, [[5, 6, 7]], [wanted], beam=2, extra_length=12)
    assert contains(found[0].ids, wanted)


def test_scorers_may_be_made_of_scorers() -> None:
    one, other = (TableScorer(random_table(seed, 1.0)) for seed in (5, 6))
    wanted = [[phrase([4, 6])], [phrase([6, 7])]]
    options = {"beam": 3, "extra_length": 3}
    for scorer in (Ensemble([one, one]), FusedScorer(one, one, 1e-9)):
        lines = [[5, 6], [4]]
        source, mask = pad_sources(lines)
        found = search(scorer, source, mask, SearchConfig(**options), phrases=wanted, edges=EDGES)
        expected = constrained(one, lines, wanted, **options)
        assert [o[0].ids for o in found] == [o[0].ids for o in expected]
    assert contains(
        search(
            Ensemble([one, other]),
            *pad_sources([[5]]),
            SearchConfig(),
            phrases=[wanted[0]],
            edges=EDGES,
        )[0][0].ids,
        wanted[0],
    )
