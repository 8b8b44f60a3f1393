"""Shallow fusion against the sum of two forced decodings, over every output there is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.data.batches import make_batch
from dragoman.models.families.recurrent_lm import RecurrentLM, RecurrentLMConfig
from dragoman.models.families.transformer_lm import TransformerLM, TransformerLMConfig
from dragoman.models.interface import TranslationModel
from dragoman.search import (
    FusedScorer,
    Hypothesis,
    ModelScorer,
    SamplingConfig,
    Scorer,
    SearchConfig,
    score_targets,
    search,
)

Build = Callable[..., TranslationModel]
Pad = Callable[[Sequence[Sequence[int]]], tuple[Tensor, Tensor]]
few = settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
VOCABULARY = 7


def language_model(kind: str, seed: int = 1) -> TranslationModel:
    """So sharp that it changes what wins."""
    torch.manual_seed(seed)
    model: TranslationModel
    if kind == "transformer_lm":
        config = TransformerLMConfig(layers=1, d_model=6, d_ff=7, heads=2, dropout=0)
        model = TransformerLM(config, VOCABULARY, VOCABULARY)
    else:
        model = RecurrentLM(RecurrentLMConfig(d_model=5, layers=1), VOCABULARY, VOCABULARY)
    model.double().eval().requires_grad_(False)
    with torch.no_grad():
        next(model.output.parameters()).mul_(9)
    return model


def forced(scorer: Scorer, line: list[int], outputs: list[list[int]]) -> list[float]:
    batch = make_batch([line] * len(outputs), outputs)
    sums = score_targets(
        scorer, batch.source, batch.source_mask, batch.target_input, batch.target_output
    )
    found: list[float] = sums.tolist()
    return found


@few
@given(
    seed=st.integers(0, 99),
    line=st.lists(st.integers(4, 10), max_size=2),
    weight=st.sampled_from([0.1, 0.5, 2.0]),
    kind=st.sampled_from(["transformer_lm", "recurrent_lm"]),
)
def test_a_beam_as_wide_as_the_space_is_brute_force(
    build: Build, pad: Pad, seed: int, line: list[int], weight: float, kind: str
) -> None:
    translation = ModelScorer(build(seed, target_vocabulary=VOCABULARY))
    opinion = ModelScorer(language_model(kind, seed))
    limit = len(line) + 1
    outputs = [
        list(ids) for size in range(limit + 1) for ids in itertools.product([4, 5, 6], repeat=size)
    ]
    # The language model is asked by itself, without any source.
    sums = zip(forced(translation, line, outputs), forced(opinion, [], outputs), strict=True)
    everything = []
    for ids, (own, other) in zip(outputs, sums, strict=True):
        total = own + weight * other
        score = total / ((5 + len(ids) + 1) / 6) ** 0.6
        everything.append(Hypothesis(ids, score, total, len(ids) < limit))
    everything.sort(key=lambda hypothesis: -hypothesis.score)
    width = len(everything)
    config = SearchConfig(beam=width, nbest=width, extra_length=1)
    fused = FusedScorer(translation, opinion, weight)
    # Another sentence in the batch, which ends at another time, changes nothing.
    found = search(fused, *pad([line, [7, 7]]), config)[0]
    assert [one.ids for one in found] == [one.ids for one in everything]
    for one, other_one in zip(found, everything, strict=True):
        assert one.score == pytest.approx(other_one.score)
        assert one.log_probability == pytest.approx(other_one.log_probability)
        assert one.ended == other_one.ended
    assert forced(fused, line, [one.ids for one in found]) == pytest.approx(
        [one.log_probability for one in found]
    )


@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(beam=1, extra_length=3),
        SearchConfig(beam=3, extra_length=3),
        SearchConfig(nbest=2, extra_length=3, sampling=SamplingConfig(top_p=0.9)),
    ],
    ids=["greedy", "beam", "sample"],
)
def test_every_search_follows_the_language_model(
    build: Build, pad: Pad, config: SearchConfig
) -> None:
    translation = ModelScorer(build(target_vocabulary=VOCABULARY))
    opinion = ModelScorer(language_model("transformer_lm"))
    lines = [[5, 6, 7], [9], [4, 8]]

    def found(scorer: Scorer) -> list[list[list[int]]]:
        return [[one.ids for one in row] for row in search(scorer, *pad(lines), config)]

    # Far above all else, the translation decides nothing; far below, the language model.
    assert found(FusedScorer(translation, opinion, 1e-9)) == found(translation)
    strong = found(FusedScorer(translation, opinion, 1e6))
    assert strong != found(translation)
    if config.beam == 1:
        assert strong == found(
            FusedScorer(ModelScorer(build(5, target_vocabulary=7)), opinion, 1e6)
        )


def test_positions_and_attention_are_those_that_both_allow(build: Build, pad: Pad) -> None:
    translation, short = build(target_vocabulary=VOCABULARY), language_model("transformer_lm")
    short.position_limit = 3
    fused = FusedScorer(ModelScorer(translation), ModelScorer(short), 0.5)
    assert fused.position_limit == 3
    found = search(fused, *pad([[5, 6]]), SearchConfig(beam=2, minimum_length=9))
    assert all(len(one.ids) == 2 for one in found[0])


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_is_positive_and_finite(build: Build, weight: float) -> None:
    scorer = ModelScorer(build())
    with pytest.raises(ConfigError, match="the weight of a language model is positive"):
        FusedScorer(scorer, scorer, weight)
