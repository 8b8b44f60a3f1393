"""Outputs that contain phrases: against looking at every output, and against plain search."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from table_scorer import VOCABULARY, TableScorer, random_table
from torch import Tensor

from dragoman.data.batches import pad_sources
from dragoman.search import Hypothesis, SearchConfig, search
from dragoman.search.phrases import Phrase, Spelling, WordEdges
from dragoman.text.vocabulary import EOS

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
    found = []
    for length in range(limit + 1):
        for ids in product(PIECES, repeat=length):
            if contains(ids, phrases):
                total = sum(
                    float(scorer.after(first, ids[:place])[piece])
                    for place, piece in enumerate([*ids, EOS])
                )
                found.append((-total / ((6 + length) / 6) ** alpha, list(ids)))
    return [(-score, ids) for score, ids in sorted(found)]


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
        beam=400,
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
