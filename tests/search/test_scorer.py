from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from table_scorer import TableScorer

from dragoman.core.errors import ConfigError
from dragoman.data.batches import Batch, make_batch
from dragoman.models.interface import TranslationModel
from dragoman.search import Ensemble, FusedScorer, ModelScorer, Scorer, score_targets, scorer

Build = Callable[..., TranslationModel]
sentences = st.lists(st.integers(4, 10), max_size=5)
shared_fixture = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def forced(scorer: Scorer, batch: Batch) -> torch.Tensor:
    return score_targets(
        scorer, batch.source, batch.source_mask, batch.target_input, batch.target_output
    )


def by_hand(model: TranslationModel, source: list[int], target: list[int]) -> float:
    """One sentence, one softmax over everything, no padding."""
    batch = make_batch([source], [target])
    memory = model.encode(batch.source, batch.source_mask)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    probabilities = model.logits(hidden)[0].softmax(-1)
    chosen = [row[i] for row, i in zip(probabilities, batch.target_output[0], strict=True)]
    return float(torch.stack(chosen).log().sum())


@shared_fixture
@given(pairs=st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4))
def test_forced_decoding_is_the_product_of_probabilities(
    build: Build, pairs: list[tuple[list[int], list[int]]]
) -> None:
    model = build()
    found = forced(ModelScorer(model), make_batch(*zip(*pairs, strict=True)))
    expected = [by_hand(model, *pair) for pair in pairs]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_forced_decoding_in_chunks_changes_nothing(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch([[5, 6], [7]], [[4, 5, 6, 7, 8, 9, 10], [5]])
    model = ModelScorer(build())
    whole = forced(model, batch)
    for positions in (1, 2, 3):
        monkeypatch.setattr(scorer, "_ELEMENTS_AT_ONCE", positions * 2 * 13)
        torch.testing.assert_close(forced(model, batch), whole)


def scores_after(scorer: Scorer, target: list[int]) -> torch.Tensor:
    batch = make_batch([[5, 6, 7], [8]], [target, target])
    memory = scorer.encode(batch.source, batch.source_mask)
    return scorer.step(batch.target_input, memory, scorer.start(memory))[0]


@pytest.mark.parametrize("kind", ["linear", "log-linear"])
def test_an_ensemble_of_the_same_model_is_that_model(
    build: Build, kind: Literal["linear", "log-linear"]
) -> None:
    model = ModelScorer(build())
    same = Ensemble([model, model, model], weights=[1, 2, 0.5], kind=kind)
    torch.testing.assert_close(scores_after(same, [4, 5]), scores_after(model, [4, 5]))


def test_a_linear_ensemble_averages_probabilities(build: Build) -> None:
    one, two = ModelScorer(build(seed=1)), ModelScorer(build(seed=2))
    found = scores_after(Ensemble([one, two], weights=[3, 1]), [4, 5]).exp()
    expected = 0.75 * scores_after(one, [4, 5]).exp() + 0.25 * scores_after(two, [4, 5]).exp()
    torch.testing.assert_close(found, expected)


def test_a_log_linear_ensemble_is_the_normalised_geometric_mean(build: Build) -> None:
    one, two = ModelScorer(build(seed=1)), ModelScorer(build(seed=2))
    found = scores_after(Ensemble([one, two], kind="log-linear"), [4, 5]).exp()
    product = (scores_after(one, [4, 5]).exp() * scores_after(two, [4, 5]).exp()).sqrt()
    torch.testing.assert_close(found, product / product.sum(-1, keepdim=True))


@pytest.mark.parametrize(
    "weights",
    [
        [1.0],
        [1.0, 0.0],
        [1.0, -1.0],
        [1.0, float("nan")],
        [float("nan"), 1.0],
        [1.0, float("inf")],
        [1e-300, 1e300],
    ],
)
def test_an_ensemble_wants_one_positive_weight_a_model(build: Build, weights: list[float]) -> None:
    model = ModelScorer(build())
    with pytest.raises(ConfigError, match="one positive weight for each"):
        Ensemble([model, model], weights)
    with pytest.raises(ConfigError, match="ensemble of 0"):
        Ensemble([])


def test_a_bfloat16_model_scores_in_float32(build: Build) -> None:
    model = build().bfloat16()
    scores = scores_after(ModelScorer(model), [4, 5])
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores.exp().sum(-1), torch.ones(scores.shape[:2]))


class Limited(TableScorer):
    """A scorer that reads so many positions."""

    def __init__(self, limit: int | None) -> None:
        super().__init__(torch.zeros(1, 8).log_softmax(1))
        self.position_limit = limit  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("limits", "lowest"),
    [((7, 5), 5), ((5, 7), 5), ((None, 5), 5), ((5, None), 5), ((None, None), None)],
)
def test_scorers_of_several_read_as_far_as_the_shortest(
    limits: tuple[int | None, int | None], lowest: int | None
) -> None:
    one, other = map(Limited, limits)
    assert Ensemble([one, other]).position_limit == lowest
    assert FusedScorer(one, other, 0.5).position_limit == lowest
