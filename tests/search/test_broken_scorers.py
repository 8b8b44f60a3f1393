"""Search over scorers that give no distribution, or one in which nothing can follow.

It ends, and gives each sentence the best that there is, whatever stands beside it.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from families import VARIATIONS, VOCABULARY, build
from hypothesis import given, settings
from hypothesis import strategies as st
from table_scorer import PositionScorer, TableScorer, random_table, spoiled
from torch import Tensor

from dragoman.core.config import parse
from dragoman.data.batches import pad_sources
from dragoman.search import Hypothesis, ModelScorer, SearchConfig, search
from dragoman.text.vocabularies import EOS

LINES = [[5, 6, 7], [4], [6, 6, 6, 6, 6], [7, 5]]
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "exact": {"beam": 3, "nbest": 2},
    "quick": {"beam": 3, "nbest": 2, "early_end": "quick"},
    "sample": {"nbest": 3, "sampling": {}},
    "truncated sample": {"nbest": 2, "sampling": {"top_k": 3, "top_p": 0.8}},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
LEAST = math.log(torch.finfo(torch.float32).tiny)


def configure(way: dict[str, Any], **options: Any) -> SearchConfig:
    return parse(SearchConfig, {**way, **options}, "test")


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [hypothesis.ids for hypothesis in found] == [h.ids for h in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score)
        assert one.log_probability == pytest.approx(other.log_probability)


@every_way
@settings(max_examples=25)
@given(
    seed=st.integers(0, 9999),
    share=st.sampled_from([0.1, 0.4, 0.8, 1.0]),
    minimum=st.sampled_from([0, 2, 99]),
    ngram=st.integers(0, 2),
    prefix=st.lists(st.integers(4, 7), max_size=3),
    single=st.booleans(),
)
def test_search_ends_with_the_best_that_there_is(
    way: dict[str, Any],
    seed: int,
    share: float,
    minimum: int,
    ngram: int,
    prefix: list[int],
    single: bool,
) -> None:
    table = spoiled(random_table(seed, 2.0), seed, share)
    scorer = TableScorer(table.float() if single else table)
    config = configure(way, extra_length=3, minimum_length=minimum, no_repeat_ngram=ngram)
    prefixes = [prefix, [], [], prefix[:1]]
    together = search(scorer, *pad_sources(LINES), config, prefixes=prefixes)
    limits = [
        max(len(line) + 3, len(opening)) for line, opening in zip(LINES, prefixes, strict=True)
    ]
    assert len(scorer.rows_read) <= max(limits) + 1
    for number, (line, found) in enumerate(zip(LINES, together, strict=True)):
        assert 1 <= len(found) <= config.nbest
        for hypothesis in found:
            assert math.isfinite(hypothesis.score)
            assert hypothesis.ids[: len(prefixes[number])] == prefixes[number]
            assert len(hypothesis.ids) <= limits[number]
            assert set(hypothesis.ids) <= {4, 5, 6, 7}
            assert hypothesis.ended == (len(hypothesis.ids) < limits[number])
        opening = prefixes[number : number + 1]
        alone = search(scorer, *pad_sources([line]), config, prefixes=opening, numbers=[number])
        assert_same(alone[0], found)


@every_way
def test_without_any_number_an_output_is_empty(way: dict[str, Any]) -> None:
    for value in (math.nan, math.inf, -math.inf):
        scorer = TableScorer(torch.full((5, 8), value))
        for (found,) in search(scorer, *pad_sources(LINES), configure({**way, "nbest": 1})):
            assert found.ids == []
            assert found.log_probability == pytest.approx(LEAST)
        assert len(scorer.rows_read) == 1


@every_way
def test_an_end_that_is_impossible_comes_at_the_limit_all_the_same(way: dict[str, Any]) -> None:
    scorer = PositionScorer({4: 0.7, 5: 0.3})
    for found in search(scorer, *pad_sources(LINES[:2]), configure(way, maximum_length=4)):
        assert found
        for hypothesis in found:
            chances = [{4: 0.7, 5: 0.3}[piece] for piece in hypothesis.ids]
            assert len(chances) == 4
            assert not hypothesis.ended
            assert hypothesis.log_probability == pytest.approx(math.log(math.prod(chances)) + LEAST)


@every_way
def test_a_prefix_that_is_impossible_is_kept_and_followed(way: dict[str, Any]) -> None:
    scorer = PositionScorer({5: 0.8, EOS: 0.2}, {5: 0.8, 6: 0.2}, {EOS: 1.0})
    for found in search(scorer, *pad_sources([[5]]), configure(way), prefixes=[[4]]):
        assert found
        for hypothesis in found:
            chance = {5: 0.8, 6: 0.2}[hypothesis.ids[1]]
            assert hypothesis.ids[0] == 4
            assert len(hypothesis.ids) == 2
            assert hypothesis.log_probability == pytest.approx(LEAST + math.log(chance))


@every_way
def test_where_all_that_is_left_would_repeat_an_output_ends(way: dict[str, Any]) -> None:
    scorer = PositionScorer({4: 0.6, 5: 0.4})
    config = configure(way, no_repeat_ngram=1, minimum_length=9)
    for found in search(scorer, *pad_sources(LINES), config):
        assert found
        for hypothesis in found:
            assert sorted(hypothesis.ids) == [4, 5]
            assert hypothesis.log_probability == pytest.approx(math.log(0.24) + LEAST)


@every_way
def test_a_beam_goes_on_without_its_dead_hypotheses(way: dict[str, Any]) -> None:
    """After piece 4 nothing is a number; after 5 all is well, though it was less likely."""

    class Half(PositionScorer):
        def step(self, target: Tensor, memory: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
            scores, state = super().step(target, memory, state)
            return scores.masked_fill((target == 4).unsqueeze(2), math.nan), state

    scorer = Half({4: 0.6, 5: 0.4}, {6: 1.0}, {EOS: 1.0})
    ((found, *_),) = search(scorer, *pad_sources([[5]]), configure(way))
    if "sampling" not in way and way["beam"] > 1:
        assert found.ids == [5, 6]
        assert found.log_probability == pytest.approx(math.log(0.4))
    else:
        assert found.ids in ([4], [5, 6])


@every_way
@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.parametrize("name", ["transformer, tied target", "recurrent"])
def test_a_sentence_that_breaks_a_model_costs_no_other(
    name: str, beta: float, way: dict[str, Any]
) -> None:
    broken = len(LINES) // 2
    lines = [line if number != broken else [9, *line] for number, line in enumerate(LINES)]
    model = build(VARIATIONS[name]).requires_grad_(False)
    config = configure(way, coverage_penalty=beta, extra_length=2)
    before = search(ModelScorer(model), *pad_sources(lines), config)
    table = next(p for n, p in model.named_parameters() if "source_embedding" in n)
    assert len(table) == VOCABULARY
    table[9] = math.nan
    after = search(ModelScorer(model), *pad_sources(lines), config)
    for number in range(len(lines)):
        assert all(math.isfinite(hypothesis.score) for hypothesis in after[number])
        if number != broken:
            assert_same(after[number], before[number])
    assert {tuple(hypothesis.ids) for hypothesis in after[broken]} == {()}
