"""The coverage penalty (Wu et al. 2016, equation 14), against the formula in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from families import VARIATIONS, VOCABULARY, build
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.data.batches import make_batch, pad_sources
from dragoman.models.interface import TranslationModel
from dragoman.search import (
    Ensemble,
    Hypothesis,
    ModelScorer,
    SamplingConfig,
    Scorer,
    SearchConfig,
    penalties,
    score_targets,
    search,
)
from dragoman.search.penalties import coverage
from dragoman.text.vocabularies import BOS, EOS, PAD

# With how much larger weights outputs differ much in score, and attention is far from even.
ATTENDING = {"transformer": 2.0, "recurrent": 12.0, "recurrent, GNMT": 12.0, "convs2s": 1.2}
every_family = pytest.mark.parametrize("name", ATTENDING)
LINES = [[5, 6, 7, 9, 12], [8], [4, 9, 10, 11, 5, 6, 6], []]
OTHERS = range(7, VOCABULARY)  # where the space of outputs is to be small
GREEDY = {"beam": 1}
BEAM = {"beam": 4, "nbest": 3}
SAMPLE = {"nbest": 3, "sampling": SamplingConfig()}
every_way = pytest.mark.parametrize("way", [GREEDY, BEAM, SAMPLE], ids=["greedy", "beam", "sample"])


def config(beta: float, **options: Any) -> SearchConfig:
    return SearchConfig(coverage_penalty=beta, **{"maximum_length": 3, **options})


def sharp(name: str, seed: int = 0) -> TranslationModel:
    model = build(VARIATIONS[name], seed).requires_grad_(False)
    for parameter in model.parameters():
        parameter.mul_(ATTENDING[name])
    return model


def by_the_formula(weights: npt.NDArray[np.float64]) -> float:
    """``sum_i log(min(sum_j p_ij, 1))`` of weights ``(target, source)``, as it is written."""
    total = 0.0
    for i in range(weights.shape[1]):
        total += np.log(min(sum(weights[j, i] for j in range(weights.shape[0])), 1.0))
    return total


def alone(model: TranslationModel, line: Sequence[int], ids: Sequence[int]) -> tuple[float, float]:
    """Log-probability and coverage of one output of one sentence, nothing beside it."""
    batch = make_batch([line], [ids])
    memory = model.encode(batch.source, batch.source_mask)
    weights = model.attention_weights(batch.target_input, memory)[0].numpy()
    assert weights.shape[2:] == (len(ids) + 1, len(line) + 1)
    mean = weights.reshape(-1, *weights.shape[2:]).mean(0)
    sums = score_targets(
        ModelScorer(model), batch.source, batch.source_mask, batch.target_input, batch.target_output
    )
    return float(sums[0]), by_the_formula(mean)


def full_score(log_probability: float, length: int, cover: float, beta: float) -> float:
    return log_probability / ((5 + length + 1) / 6) ** 0.6 + beta * cover


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[h.ids for h in row] for row in found] == [[h.ids for h in row] for row in expected]
    for one, other in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
        assert one.score == pytest.approx(other.score)
        assert one.log_probability == pytest.approx(other.log_probability)


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 4), target=st.integers(1, 5), source=st.integers(1, 5), data=st.data())
def test_the_formula(rows: int, target: int, source: int, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 999))
    lengths = np.array(data.draw(st.lists(st.integers(1, target), min_size=rows, max_size=rows)))
    widths = np.array(data.draw(st.lists(st.integers(1, source), min_size=rows, max_size=rows)))
    weights = np.random.default_rng(seed).dirichlet(np.full(source, 0.3), (rows, target))
    found = coverage(
        torch.from_numpy(weights),
        torch.arange(source) < torch.from_numpy(widths).unsqueeze(1),
        torch.arange(target) < torch.from_numpy(lengths).unsqueeze(1),
    )
    expected = [
        by_the_formula(np.maximum(weights[row, : lengths[row], : widths[row]], 1e-30))
        for row in range(rows)
    ]
    assert found.tolist() == pytest.approx(expected)
    assert (found <= 0).all()


def test_attention_that_vanished_in_float32_stays_comparable() -> None:
    weights = torch.tensor([[[1.0, 0.0, 0.0]], [[1.0, 0.0, 1e-3]]])
    one, two = coverage(weights, torch.ones(2, 3) > 0, torch.ones(2, 1) > 0).tolist()
    assert -np.inf < one < two < 0


@every_family
@every_way
def test_scores_are_those_of_the_formula(name: str, way: dict[str, Any]) -> None:
    model = sharp(name)
    options = config(0.7, minimum_length=2, **way)
    found = search(ModelScorer(model), *pad_sources(LINES), options)
    seen = []
    for line, hypotheses in zip(LINES, found, strict=True):
        for hypothesis in hypotheses:
            log_probability, cover = alone(model, line, hypothesis.ids)
            expected = full_score(log_probability, len(hypothesis.ids), cover, 0.7)
            assert hypothesis.log_probability == pytest.approx(log_probability)
            assert hypothesis.score == pytest.approx(expected)
            seen.append(cover)
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
    assert min(seen) < -0.1


@every_family
@pytest.mark.parametrize("beta", [0.3, 5.0])
@pytest.mark.no_cover
def test_a_beam_as_wide_as_the_space_is_brute_force(name: str, beta: float) -> None:
    """Ending early must not lose what coverage would have put in front."""
    line = [5, 8, 4]
    outputs = [ids for size in range(4) for ids in itertools.product([4, 5, 6], repeat=size)]
    for seed in range(2):
        model = sharp(name, seed)
        scored = []
        for ids in outputs:
            log_probability, cover = alone(model, line, ids)
            score = full_score(log_probability, len(ids), cover, beta)
            scored.append(Hypothesis(list(ids), score, log_probability, ended=True))
        scored.sort(key=lambda hypothesis: -hypothesis.score)
        width = len(outputs)
        for nbest in (1, width):
            options = config(beta, beam=width, nbest=nbest)
            found = search(ModelScorer(model), *pad_sources([line]), options, never=OTHERS)
            assert_same(found, [scored[:nbest]])


class Scripted(Scorer):
    """Two outputs: piece 4 sees only the first source piece, piece 5 spreads its attention."""

    position_limit = None

    def __init__(self, likelier: int) -> None:
        self.log_probabilities = torch.full((6,), -9.0, dtype=torch.float64)
        self.log_probabilities[likelier] = -0.2
        self.log_probabilities[9 - likelier] = -1.7

    def encode(self, source: Tensor, source_mask: Tensor) -> Tensor:
        return source_mask

    def start(self, memory: Tensor, beam: int = 1) -> Tensor:
        return torch.zeros(len(memory) * beam, 1)

    def step(self, target: Tensor, memory: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.log_probabilities.expand(*target.shape, 6).clone()
        scores[target != BOS] = -9.0
        scores[..., EOS][target != BOS] = -0.1
        return scores, state

    def attention(self, target: Tensor, memory: Tensor) -> Tensor:
        real = memory.double().unsqueeze(1)
        even = (real / real.sum(2, keepdim=True)).expand(-1, target.size(1), -1)
        first = torch.zeros_like(even)
        first[:, :, 0] = 0.98
        first += 0.02 * even
        return torch.where((target[:, -1:] == 5).unsqueeze(2), even, first)


def test_with_a_large_beta_the_output_that_covers_more_wins() -> None:
    source, mask = pad_sources([[7, 8, 9], [7]])

    def best(likelier: int, beta: float) -> list[list[int]]:
        found = search(Scripted(likelier), source, mask, config(beta, beam=2, maximum_length=1))
        return [hypotheses[0].ids for hypotheses in found]

    assert best(4, 0.0) == [[4], [4]]
    assert best(4, 0.01) == [[4], [4]]
    assert best(4, 2.0) == [[5], [5]]
    assert best(5, 0.0) == best(5, 2.0) == [[5], [5]]


class Blind(ModelScorer):
    """Its attention must not be asked for."""

    def attention(self, target: Tensor, memory: Any) -> Tensor:
        raise AssertionError("attention was read")


@every_family
@every_way
def test_without_it_nothing_changes_and_attention_is_not_read(
    name: str, way: dict[str, Any]
) -> None:
    model = sharp(name)
    found = search(Blind(model), *pad_sources(LINES), config(0.0, **way))
    for hypothesis in itertools.chain(*found):
        penalty = float(((5 + len(hypothesis.ids) + 1) / 6) ** 0.6)
        assert hypothesis.score == pytest.approx(hypothesis.log_probability / penalty, rel=1e-12)


@every_family
@every_way
def test_neither_batch_nor_order_matters(
    name: str, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, options = ModelScorer(sharp(name)), config(1.5, **way)
    together = search(scorer, *pad_sources(LINES), options)
    for number, line in enumerate(LINES):
        by_itself = search(scorer, *pad_sources([line]), options, numbers=[number])
        assert_same(by_itself, together[number : number + 1])
    order = [2, 0, 3, 1]
    shuffled = search(scorer, *pad_sources([LINES[n] for n in order]), options, numbers=order)
    assert_same(shuffled, [together[n] for n in order])
    monkeypatch.setattr(penalties, "_PAIRS_AT_ONCE", 1)
    assert_same(search(scorer, *pad_sources(LINES), options), together)


def test_an_ensemble_looks_where_its_members_look_on_average() -> None:
    models = [sharp("transformer", 1), sharp("convs2s", 2)]
    scorers = [ModelScorer(model) for model in models]
    batch = make_batch([[5, 6, 7], [8]], [[4, 9], [10, 5]])

    def attention(scorer: Scorer) -> Tensor:
        memory = scorer.encode(batch.source, batch.source_mask)
        return scorer.attention(batch.target_input, memory)

    one, two = (attention(scorer) for scorer in scorers)
    both = attention(Ensemble(scorers, weights=[3, 1]))
    torch.testing.assert_close(both, 0.75 * one + 0.25 * two)
    torch.testing.assert_close(both.sum(2), torch.ones(2, 3, dtype=torch.float64))
    options = config(0.7, **BEAM)
    same = search(Ensemble(scorers[:1] * 2), *pad_sources(LINES), options)
    assert_same(same, search(scorers[0], *pad_sources(LINES), options))


def test_a_forced_prefix_counts_whatever_is_in_it() -> None:
    model = sharp("transformer")
    prefix = [PAD, 9]
    options = config(0.7, beam=2)
    source, mask = pad_sources([[5, 6]])
    ((found,),) = search(ModelScorer(model), source, mask, options, prefixes=[prefix])
    memory = model.encode(source, mask)
    weights = model.attention_weights(torch.tensor([[BOS, *found.ids]]), memory)[0].mean((0, 1))
    cover = by_the_formula(weights.numpy())
    expected = full_score(found.log_probability, len(found.ids), cover, 0.7)
    assert found.score == pytest.approx(expected)


def test_attention_of_a_bfloat16_model_is_averaged_in_float32() -> None:
    batch = make_batch([[5, 6, 7], [8]], [[4, 9], [10, 5]])

    def attention(model: TranslationModel) -> Tensor:
        scorer = ModelScorer(model)
        memory = scorer.encode(batch.source, batch.source_mask)
        return scorer.attention(batch.target_input, memory)

    exact = attention(build(VARIATIONS["transformer"]))
    rough = attention(build(VARIATIONS["transformer"]).bfloat16())
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough.double(), exact, rtol=0, atol=0.03)


@every_way
def test_a_family_without_attention_is_refused(way: dict[str, Any]) -> None:
    scorer = ModelScorer(build(VARIATIONS["bytenet"]))
    for refused in (scorer, Ensemble([ModelScorer(sharp("transformer")), scorer])):
        with pytest.raises(ConfigError, match=r"ByteNet has no attention .*coverage_penalty"):
            search(refused, *pad_sources(LINES), config(0.1, **way))
    search(scorer, *pad_sources(LINES), config(0.0, **way))
