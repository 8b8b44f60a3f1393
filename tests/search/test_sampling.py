from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.search import ModelScorer, SamplingConfig, SearchConfig, sampling, search
from dragoman.search.sampling import Filter
from dragoman.text.vocabularies import BOS, EOS

Build = Callable[..., TranslationModel]
Pad = Callable[[Sequence[Sequence[int]]], tuple[Tensor, Tensor]]


def draw(scores: Tensor, uniform: Tensor, config: SamplingConfig) -> Tensor:
    return sampling.draw(scores, uniform, config.temperature, config.filters())


def expected(scores: np.ndarray, config: SamplingConfig) -> np.ndarray:
    """The distribution that is sampled from, piece by piece as the papers define it."""
    weights = np.exp(scores / config.temperature)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[: config.top_k]
    total = weights[order].sum()
    kept: list[int] = []
    while order and (not kept or weights[kept].sum() / total < config.top_p):
        kept.append(order.pop(0))
    likely = [i for i in kept if i == kept[0] or weights[i] / total >= (config.epsilon or 0)]
    likely = [i for i in likely if weights[i] >= config.min_p * weights.max()]
    probabilities = np.zeros(len(scores))
    probabilities[likely] = weights[likely] / weights[likely].sum()
    return probabilities


configs = st.builds(
    SamplingConfig,
    temperature=st.sampled_from([0.3, 1.0, 2.5]),
    top_k=st.sampled_from([None, 1, 3, 99]),
    top_p=st.sampled_from([0.05, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
    epsilon=st.sampled_from([None, 0.05, 0.2, 0.9]),
)


@given(seed=st.integers(0, 1000), config=configs, forbidden=st.integers(0, 5))
def test_evenly_spread_numbers_draw_each_piece_by_its_probability(
    seed: int, config: SamplingConfig, forbidden: int
) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=8, scale=2.0)
    scores[generator.choice(8, forbidden, replace=False)] = -np.inf
    points = 4000
    uniform = torch.from_numpy((np.arange(points) + 0.5) / points)
    ids = draw(torch.from_numpy(scores).expand(points, -1), uniform, config)
    shares = np.bincount(ids.numpy(), minlength=8) / points
    np.testing.assert_allclose(shares, expected(scores, config), atol=2 / points)


@pytest.mark.parametrize("top_k", [None, 3])
@pytest.mark.parametrize(
    ("epsilon", "shares"),
    [
        (0.0, [0.2, 0.5, 0.3]),
        (0.2, [0.2, 0.5, 0.3]),
        (0.25, [0.0, 0.625, 0.375]),
        (0.9, [0.0, 1.0, 0.0]),
    ],
)
def test_below_epsilon_only_the_likeliest_is_drawn(
    epsilon: float, shares: list[float], top_k: int | None
) -> None:
    scores = torch.tensor([0.2 + 1e-9, 0.5, 0.3]).double().log()
    uniform = torch.from_numpy((np.arange(1000) + 0.5) / 1000)
    ids = draw(scores.expand(1000, -1), uniform, SamplingConfig(epsilon=epsilon, top_k=top_k))
    np.testing.assert_allclose(np.bincount(ids, minlength=3) / 1000, shares, atol=0.002)


@pytest.mark.parametrize("top_k", [None, 3])
@pytest.mark.parametrize(
    ("min_p", "shares"),
    [
        (0.39, [0.2, 0.5, 0.3]),
        (0.41, [0.0, 0.625, 0.375]),
        (0.61, [0.0, 1.0, 0.0]),
        (1.0, [0.0, 1.0, 0.0]),
    ],
)
def test_min_p_is_a_share_of_the_likeliest(
    min_p: float, shares: list[float], top_k: int | None
) -> None:
    scores = torch.tensor([0.2, 0.5, 0.3]).double().log()
    uniform = torch.from_numpy((np.arange(1000) + 0.5) / 1000)
    ids = draw(scores.expand(1000, -1), uniform, SamplingConfig(min_p=min_p, top_k=top_k))
    np.testing.assert_allclose(np.bincount(ids, minlength=3) / 1000, shares, atol=0.002)


@given(seed=st.integers(0, 1000), config=configs)
def test_a_number_draws_the_same_piece_in_every_release(seed: int, config: SamplingConfig) -> None:
    """Pieces take their places in the interval by id, or best first if top-k or top-p rank them."""
    generator = np.random.default_rng(seed)
    scores, uniform = generator.normal(size=8, scale=2.0), generator.random(20)
    probabilities = expected(scores, config)
    is_ranked = config.top_k is not None or config.top_p < 1
    order = np.argsort(-scores) if is_ranked else np.arange(8)
    drawn = order[np.searchsorted(probabilities[order].cumsum(), uniform, side="right")]
    ids = draw(torch.from_numpy(scores).expand(20, -1), torch.from_numpy(uniform), config)
    assert ids.tolist() == drawn.tolist()


class Odd(Filter):
    """Pieces of odd places, and the first."""

    def keeps(self, probabilities: Tensor) -> Tensor:
        place = torch.arange(probabilities.size(1)).expand_as(probabilities)
        return (place % 2 == 1) | (place == 0)


class OddConfig(SamplingConfig):
    """Sampling with one more filter."""

    odd_only: Annotated[bool, Odd] = False


def test_a_filter_is_a_class_and_a_field() -> None:
    uniform = torch.from_numpy((np.arange(100) + 0.5) / 100)
    config = OddConfig(odd_only=True, top_k=4)
    ids = draw(torch.zeros(6).expand(100, -1), uniform, config)
    assert set(ids.tolist()) == {0, 1, 3}
    assert str(config) == "top-k 4, seed 1, odd-only True"


def test_neither_end_of_the_interval_draws_what_is_forbidden() -> None:
    scores = torch.tensor([[-torch.inf, -1.0, -torch.inf, -2.0, -torch.inf]]).expand(2, -1)
    uniform = torch.tensor([0.0, 1.0], dtype=torch.float64)  # 1 stands for rounding up to it
    assert draw(scores, uniform, SamplingConfig()).tolist() == [1, 3]


@pytest.mark.parametrize("config", [SamplingConfig(), SamplingConfig(top_k=2, top_p=0.5)])
def test_rows_without_a_distribution_show_it_and_cost_no_other(config: SamplingConfig) -> None:
    rows = [[-1.0, np.nan, -2.0], [-np.inf] * 3, [np.inf, -1.0, -1.0], [-np.inf, -1.0, -np.inf]]
    scores = torch.tensor(rows)
    ids = draw(scores, torch.full((4,), 0.9).double(), config)
    assert not scores.gather(1, ids.unsqueeze(1))[:3].isfinite().any()
    assert ids[3] == 1


def step_probabilities(model: TranslationModel, source: tuple[Tensor, Tensor]) -> np.ndarray:
    """Of piece 4, piece 5 and the end, at the first position, and after piece 4 or 5."""
    scorer = ModelScorer(model)
    memory = scorer.encode(*source)
    rows = []
    for target in ([BOS, 4], [BOS, 5]):
        scores, _ = scorer.step(torch.tensor([target]), memory, scorer.start(memory))
        rows.append(scores[0, :, [4, 5, EOS]].exp().numpy())
    steps = np.stack([rows[0][0], rows[0][1], rows[1][1]])
    return steps / steps.sum(1, keepdims=True)  # of what may be generated


def test_whole_outputs_come_as_often_as_the_model_says(build: Build, pad: Pad) -> None:
    model = build(target_vocabulary=6, spread=1.0)
    source = pad([[5]])
    first, *after = step_probabilities(model, source)
    expected: dict[tuple[int, ...], Any] = {(): first[2]}
    for piece in (0, 1):
        expected[(piece + 4,)] = first[piece] * after[piece][2]
        for last in (0, 1):
            expected[(piece + 4, last + 4)] = first[piece] * after[piece][last]

    count = 3000
    config = SearchConfig(extra_length=1, nbest=count, sampling=SamplingConfig(seed=5))
    (samples,) = search(ModelScorer(model), *source, config)
    counts = Counter(tuple(hypothesis.ids) for hypothesis in samples)
    assert set(counts) <= set(expected)
    chi_square = sum((counts[ids] - count * p) ** 2 / (count * p) for ids, p in expected.items())
    assert chi_square < 22.5  # six degrees of freedom: exceeded once in a thousand seeds


def test_the_seed_alone_decides(build: Build, pad: Pad) -> None:
    scorer = ModelScorer(build(spread=0.5))
    lines = pad([[5, 6, 7]] * 4)

    def found(seed: int) -> list[list[list[int]]]:
        config = SearchConfig(nbest=2, extra_length=9, sampling=SamplingConfig(seed=seed))
        return [[h.ids for h in row] for row in search(scorer, *lines, config)]

    torch.manual_seed(1)
    first = found(1)
    torch.manual_seed(2)
    assert found(1) == first
    assert found(2) != first
    assert len({tuple(ids) for row in first for ids in row}) > 1  # equal lines differ


def test_a_low_temperature_or_one_piece_is_greedy(build: Build, pad: Pad) -> None:
    scorer = ModelScorer(build())
    lines = pad([[5, 6, 7], [8], []])
    greedy = search(scorer, *lines, SearchConfig(beam=1, extra_length=5))
    low = [SamplingConfig(temperature=temperature) for temperature in (1e-6, 1e-320)]
    for settings in (*low, SamplingConfig(top_k=1)):
        config = SearchConfig(extra_length=5, sampling=settings)
        for (sample,), (best,) in zip(search(scorer, *lines, config), greedy, strict=True):
            assert (sample.ids, sample.ended) == (best.ids, best.ended)
            assert sample.score == pytest.approx(best.score)
            assert sample.log_probability == pytest.approx(best.log_probability)


@pytest.mark.parametrize("values", [{"temperature": 0}, {"top_p": 0}, {"min_p": 1.1}, {"top_k": 0}])
def test_settings_without_sense_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(values))):
        parse(SearchConfig, {"sampling": values}, "test")
