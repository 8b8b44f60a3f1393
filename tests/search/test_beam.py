"""Beam search against the same search written plainly: one sentence, one hypothesis at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from table_scorer import VOCABULARY, PositionScorer, TableScorer, random_table
from torch import Tensor

from dragoman.data.batches import pad_sources
from dragoman.models.interface import TranslationModel
from dragoman.search import Hypothesis, ModelScorer, SearchConfig, search
from dragoman.search.beam import Beams, Candidates, EarlyEnd, Finished
from dragoman.search.penalties import HypothesisScorer, Penalties
from dragoman.text.vocabularies import BOS, EOS

Build = Callable[..., TranslationModel]
Pad = Callable[[Sequence[Sequence[int]]], tuple[Tensor, Tensor]]
Next = Callable[[list[int]], Sequence[float]]
"""From the ids so far to the log-probabilities of all pieces."""


class Plain(NamedTuple):
    outputs: list[tuple[list[int], float]]  # with scores, best first
    finished: list[int]  # how many were finished after each step
    bounds: list[float]  # after each step: what the unfinished could reach at best
    lowest: list[float]  # after each step: the lowest score in the n-best list


def plain_beam_search(
    after: Next, limit: int, beam: int, alpha: float, *, nbest: int, until: int | None = None
) -> Plain:
    """Search to the length limit, or ``until`` so many are finished."""

    def divisor(length: int) -> float:
        return ((5 + length) / 6) ** alpha

    unfinished: list[tuple[float, list[int]]] = [(0.0, [])]
    plain = Plain([], [], [], [])
    while unfinished and (until is None or len(plain.outputs) < until):
        candidates = []
        for total, ids in unfinished:
            scores = after(ids)
            allowed = [EOS] if len(ids) == limit else [EOS, *range(4, len(scores))]
            candidates += [(total + scores[piece], [*ids, piece]) for piece in allowed]
        candidates = [pair for pair in candidates if pair[0] > -math.inf]
        candidates.sort(key=lambda candidate: -candidate[0])
        for total, ids in candidates[:beam]:
            if ids[-1] == EOS:
                plain.outputs.append((ids[:-1], total / divisor(len(ids))))
        unfinished = [candidate for candidate in candidates if candidate[1][-1] != EOS][:beam]
        plain.outputs.sort(key=lambda output: (-output[1], output[0]))
        plain.finished.append(len(plain.outputs))
        plain.bounds.append(unfinished[0][0] / divisor(limit + 1) if unfinished else -math.inf)
        full = len(plain.outputs) >= nbest
        plain.lowest.append(plain.outputs[nbest - 1][1] if full else -math.inf)
    return plain


def assert_same(found: list[Hypothesis], plain: Plain, nbest: int) -> None:
    expected = plain.outputs[:nbest]
    assert [hypothesis.ids for hypothesis in found] == [ids for ids, _ in expected]
    for hypothesis, (_, score) in zip(found, expected, strict=True):
        assert hypothesis.score == pytest.approx(score)


@pytest.mark.parametrize("width", [2, 7])
@pytest.mark.parametrize("early_end", ["exact", "quick"])
def test_it_finds_what_the_plain_search_finds(
    build: Build, pad: Pad, width: int, early_end: str
) -> None:
    lines = [[5, 6], [7], [4, 8, 9], []]
    options = {"beam": width, "nbest": width, "extra_length": 3, "early_end": early_end}
    for seed in range(4):
        model = build(seed, spread=8.0)  # short and long outputs compete
        found = search(ModelScorer(model), *pad(lines), SearchConfig(**options))
        for line, hypotheses in zip(lines, found, strict=True):
            memory = model.encode(*pad([line]))

            def after(
                ids: list[int], memory: Any = memory, model: TranslationModel = model
            ) -> list[float]:
                """The whole prefix is read anew for every hypothesis."""
                hidden, _ = model.decode(torch.tensor([[BOS, *ids]]), memory, model.start(memory))
                return model.logits(hidden)[0, -1].log_softmax(-1).tolist()

            until = width if early_end == "quick" else None
            plain = plain_beam_search(after, len(line) + 3, width, 0.6, nbest=width, until=until)
            assert_same(hypotheses, plain, width)


def rows_after(scorer: TableScorer, first: int, ids: list[int]) -> list[float]:
    return scorer.after(first, ids).tolist()


tables = st.builds(random_table, st.integers(0, 9999), st.sampled_from([0.5, 2.0, 5.0]))
alphas = st.sampled_from([0.0, 0.6, 1.0, 2.0])


@given(
    table=tables,
    alpha=alphas,
    beam=st.integers(2, 5),
    impossible=st.integers(4, VOCABULARY),
    data=st.data(),
)
def test_ending_early_loses_nothing(
    table: Tensor, alpha: float, beam: int, impossible: int, data: st.DataObject
) -> None:
    """The n-best lists are those of a search that goes on to the limit."""
    if impossible < VOCABULARY:
        table[::3, impossible] = -torch.inf
    nbest = data.draw(st.integers(1, beam))
    scorer = TableScorer(table)
    lines = [[5, 6, 7, 4], [6], [7, 7]]
    config = SearchConfig(beam=beam, nbest=nbest, extra_length=5, length_penalty=alpha)
    found = search(scorer, *pad_sources(lines), config)
    steps = []
    for line, hypotheses in zip(lines, found, strict=True):
        plain = plain_beam_search(
            partial(rows_after, scorer, line[0]),
            len(line) + 5,
            beam,
            alpha,
            nbest=nbest,
        )
        assert_same(hypotheses, plain, nbest)
        passed = zip(plain.bounds, plain.lowest, strict=True)
        steps.append(
            1
            + next(n for n, (best, worst) in enumerate(passed) if best == -math.inf or best < worst)
        )
    # Each sentence is searched for until its own bound is passed, and no longer; nothing but the
    # begin symbol is read first, once for each sentence.
    staying = [sum(step < last for last in steps) for step in range(1, max(steps))]
    assert scorer.rows_read == [len(lines), *(beam * count for count in staying)]


def test_a_beam_wider_than_the_vocabulary_grows_step_by_step() -> None:
    """One hypothesis has no more continuations than there are pieces."""
    table = random_table(seed=3, sharpness=1.0)
    scorer, beam = TableScorer(table), 11
    config = SearchConfig(beam=beam, nbest=beam, extra_length=2)
    for found, first in zip(
        search(scorer, *pad_sources([[5, 6], [6, 5]]), config), (5, 6), strict=True
    ):
        plain = plain_beam_search(partial(rows_after, scorer, first), 4, beam, 0.6, nbest=beam)
        assert_same(found, plain, beam)
    assert scorer.rows_read[:3] == [2, 2 * VOCABULARY, 2 * beam]


@given(table=tables, alpha=alphas, beam=st.integers(2, 5))
def test_the_quick_end_comes_when_the_beam_is_finished(
    table: Tensor, alpha: float, beam: int
) -> None:
    scorer = TableScorer(table)
    config = SearchConfig(
        beam=beam, nbest=beam, extra_length=8, length_penalty=alpha, early_end="quick"
    )
    ((*found,),) = search(scorer, *pad_sources([[5]]), config)
    plain = plain_beam_search(
        lambda ids: scorer.after(5, ids).tolist(), 9, beam, alpha, nbest=beam, until=beam
    )
    assert_same(found, plain, beam)
    assert len(scorer.rows_read) == len(plain.finished)


def certain(first: float) -> PositionScorer:
    """Ends at once, or goes on with piece 4 or 5 and then for certain up to ten pieces."""
    return PositionScorer({4: first, 5: first, EOS: 0.4}, *[{4: 1.0}] * 9, {EOS: 1.0})


def test_a_scorer_that_is_certain_reaches_the_bound() -> None:
    """So no rule that ends sooner is exact: this one would have lost the winner."""
    config = SearchConfig(beam=2, length_penalty=1.0, maximum_length=10)
    scorer = certain(0.3)
    ((found,),) = search(scorer, *pad_sources([[5] * 9]), config)
    assert found.ids == [4] * 10
    assert found.score == pytest.approx(math.log(0.3) / (16 / 6))
    assert len(scorer.rows_read) == 11
    scorer = certain(0.01)  # too unlikely to win, however it goes on
    ((found,),) = search(scorer, *pad_sources([[5] * 9]), config)
    assert found.ids == []
    assert len(scorer.rows_read) == 1


def test_the_quick_end_may_lose_the_winner() -> None:
    after_two = [{4: 0.99, EOS: 0.01}] * 10
    scorer = PositionScorer({4: 0.4, 5: 0.2, EOS: 0.3}, {4: 0.6, EOS: 0.4}, *after_two, {EOS: 1.0})

    def best(early_end: EarlyEnd) -> list[int]:
        config = SearchConfig(beam=2, length_penalty=1.0, maximum_length=12, early_end=early_end)
        return search(scorer, *pad_sources([[5]]), config)[0][0].ids

    assert len(best("exact")) == 12
    assert best("quick") == []  # that and [4] are finished after two steps


def test_an_equal_score_still_enters_a_full_list_by_lower_ids() -> None:
    """Of two equal hypotheses the one with the lower ids ranks first, whichever ends first."""
    ranker = HypothesisScorer(TableScorer(torch.zeros(1, 8)), torch.ones(1, 2), Penalties(0.0))
    finished = Finished(torch.tensor([9]), ranker, beam=2, nbest=1, quick=False)
    ends = Candidates(torch.tensor([[-1.0]]), torch.tensor([[0]]), torch.tensor([[EOS]]))
    for ids, best in ([5], [5]), ([4, 6], [4, 6]), ([4, 7, 4], [4, 6]):
        beams = Beams(torch.tensor([[-1.0]]), torch.tensor([ids]), torch.zeros(1, len(ids)))
        finished.add(torch.tensor([0]), None, beams, ends)
        assert [one.ids for one in finished.hypotheses[0]] == [best]
