"""Degenerate outputs are named, searched for again, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from table_scorer import VOCABULARY, PositionScorer, TableScorer, random_table

from dragoman.core.repetition import loop
from dragoman.data.batches import pad_sources
from dragoman.search import Hypothesis, SearchConfig, search
from dragoman.search.constraints import PartialOutputs
from dragoman.search.degenerate import SLACK, Bounds, NoLoop, without_faults
from dragoman.text.vocabularies import EOS

FREE = Bounds(0, None)
pieces = st.lists(st.integers(4, 6), max_size=12)


@given(pieces, st.integers(0, 5))
def test_exactly_what_would_close_a_loop_is_forbidden(history: list[int], repeats: int) -> None:
    ended = {0, *range(len(history) + 1)}
    allowed = [ids for ids in (history[:n] for n in sorted(ended)) if loop(ids) <= repeats]
    history = max(allowed, key=len)  # search never gets beyond the first loop
    scores = torch.zeros(1, VOCABULARY)
    partial = PartialOutputs(torch.tensor([history], dtype=torch.int64), torch.tensor([0]))
    NoLoop(torch.tensor([repeats])).forbid(scores, partial)
    for piece in range(VOCABULARY):
        expected = loop([*history, piece]) > max(repeats, 0)
        if piece > 3:
            assert (scores[0, piece] == float("-inf")) == expected, (history, piece)
    assert scores[0, EOS] == 0


def hypothesis(ids: Sequence[int], *, ended: bool = True) -> Hypothesis:
    return Hypothesis(list(ids), -1.0, -1.0, ended)


def test_faults_have_names_and_bounds_of_their_own() -> None:
    bounds = Bounds.of([4, 5], [], ratio=1.5, factor=2.0)
    assert bounds == Bounds(0, 9 + SLACK)
    assert bounds.faults([4, 5] * 2) == ()
    assert bounds.faults([4, 5] * 3) == ("repetition",)
    assert bounds.faults([4] * 40) == ("repetition", "length")
    assert bounds.faults(range(4, 4 + 9 + SLACK + 1)) == ("length",)
    assert Bounds.of([4] * 5, [], None, 2.0) == Bounds(5, None), "what repeats in the source may"
    assert Bounds.of([4], [5] * 6, None, 2.0).faults([5] * 6) == (), "and a prefix"
    assert Bounds.of([4], [], 1.0, 0.0).pieces is None


def test_a_second_result_counts_only_if_it_is_better() -> None:
    looping, short, cut = hypothesis([4] * 9), hypothesis([4]), hypothesis([4, 5], ended=False)
    asked: list[list[int]] = []

    def again(found: Hypothesis) -> list[list[Hypothesis]]:
        def search_again(places: list[int], bounds: list[Bounds]) -> list[list[Hypothesis]]:
            asked.append(places)
            return [[found] for _ in places]

        return without_faults([[short], [looping]], [FREE, FREE], search_again)

    assert again(short) == [[short], [short]]
    kept = again(looping)[1][0]
    assert kept.ids == looping.ids and kept.faults == ("repetition",)
    assert again(cut)[1][0].ids == looping.ids, "a text that breaks off is no better"
    assert again(hypothesis([]))[1][0].ids == looping.ids, "nor is none"
    assert asked == [[1]] * 4
    assert without_faults([[looping, short]], [FREE], None)[0] == [kept, short]


def probabilities(*wanted: dict[int, float]) -> torch.Tensor:
    """A table: the given pieces have these probabilities, the others share the rest."""
    table = torch.full((len(wanted), VOCABULARY), 0.001)
    for row, entry in zip(table, wanted, strict=True):
        for piece, probability in entry.items():
            row[piece] = probability
    return (table / table.sum(1, keepdim=True)).log()


@pytest.mark.parametrize("beam", [1, 3])
def test_search_within_bounds_neither_loops_nor_goes_on(beam: int) -> None:
    source, mask = pad_sources([[4], [5, 5, 5, 5, 5]])
    config = SearchConfig(beam=beam, extra_length=30, minimum_length=6)
    scorer = TableScorer(probabilities({5: 0.97, 6: 0.02, EOS: 0.005}))
    plain = search(scorer, source, mask, config)
    assert all(loop(found[0].ids) > 20 for found in plain), "it would loop"
    bounds = [Bounds(0, 7), Bounds(5, None)]
    first, second = (
        found[0].ids
        for found in search(TableScorer(scorer.table), source, mask, config, bounds=bounds)
    )
    assert len(first) <= 8 and loop(first) == 0
    assert loop(second) <= 5 < len(second)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_bounds_that_nothing_reaches_change_nothing(seed: int, beam: int) -> None:
    source, mask = pad_sources([[4, 5], [6]])
    config = SearchConfig(beam=beam, extra_length=4)
    table = random_table(seed, 1.0)
    wide = [Bounds(99, 99)] * 2
    found = search(TableScorer(table), source, mask, config, bounds=wide)
    assert found == search(TableScorer(table), source, mask, config)


def test_an_output_of_the_maximum_length_is_whole() -> None:
    scorer = PositionScorer({4: 0.9}, {5: 0.9}, {6: 0.9}, {EOS: 0.9})
    source, mask = pad_sources([[4]])
    config = SearchConfig(beam=1)
    ((best,),) = search(scorer, source, mask, config, bounds=[Bounds(0, 3)])
    assert best.ids == [4, 5, 6] and best.ended
