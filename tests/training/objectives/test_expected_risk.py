"""Expected risk against its formulas, written out in float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from families import VARIATIONS, build
from hypothesis import given, settings
from hypothesis import strategies as st
from largest_tensor import LargestTensor
from torch import Tensor

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.data.batch import Outputs, RatedCandidates
from dragoman.data.batches import Batch, make_batch
from dragoman.models import TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.search import ModelScorer, score_targets
from dragoman.training.objectives import CrossEntropy, ExpectedRisk, chunks
from dragoman.training.objectives.expected_risk import Estimate, ExpectedRiskConfig
from dragoman.training.settings import TrainingConfig

SIZES = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 6, "d_ff": 7, "heads": 2}
CPU = torch.device("cpu")
SPACE = [list(ids) for length in range(3) for ids in itertools.product((4, 5, 6), repeat=length)]
"""All outputs of up to two of three pieces."""


def with_outputs(batch: Batch, outputs: list[Outputs]) -> Batch:
    return replace(batch, candidates=RatedCandidates.of(outputs, CPU))


def of_the_space(times: float = 1.0) -> Batch:
    """Two sentences whose candidates are the whole space, with any rewards."""
    references: list[list[int]] = [[5], []]
    outputs = []
    for number, reference in enumerate(references):
        ids = [reference, *(one for one in SPACE if one != reference)]
        rewards = [((7 * place + 3 * number) % 11) / 11 for place in range(len(ids))]
        counts = [times * (1 + place % 3) for place in range(len(ids))]
        outputs.append(Outputs(ids, rewards, counts))
    return with_outputs(make_batch([[5, 6], [7, 8, 9]], references), outputs)


def log_probabilities(model: TranslationModel, batch: Batch) -> Tensor:
    """Of every output, one after the other, with a gradient: ``(batch, outputs)``."""
    assert batch.candidates is not None
    rows = []
    for place, outputs in enumerate(batch.candidates.target_output):
        sentence = batch.select(torch.tensor([place]))
        memory = model.encode(sentence.source, sentence.source_mask)
        found = []
        for row in outputs:
            target = row[row != 0]
            read = torch.cat([target.new_tensor([2]), target[:-1]])[None]
            hidden, _ = model.decode(read, memory, model.start(memory))
            scores = model.logits(hidden)[0].log_softmax(-1)
            found.append(scores.gather(1, target[:, None]).sum())
        rows.append(torch.stack(found))
    return torch.stack(rows)


def renormalised(log_p: Tensor, risks: Tensor, times: Tensor, sharpness: float) -> Tensor:
    powers = log_p.exp() ** sharpness
    return (powers * risks).sum() / powers.sum() / sharpness


def reinforced(log_p: Tensor, risks: Tensor, times: Tensor, sharpness: float) -> Tensor:
    """Samples one by one, each with the mean of all as its baseline."""
    rows = [place for place, count in enumerate(times.tolist()) for _ in range(int(count))]
    baseline = risks[rows].mean()
    return torch.stack([(risks[one] - baseline) * log_p[one] for one in rows]).mean()


@pytest.mark.parametrize(
    ("objective", "formula"),
    [
        (ExpectedRisk(0.1, "renormalised", 1.0, 0.0), renormalised),
        (ExpectedRisk(0.1, "renormalised", 0.3, 0.4), renormalised),
        (ExpectedRisk(0.1, "reinforce", 1.0, 0.0), reinforced),
        (ExpectedRisk(0.1, "reinforce", 1.0, 0.4), reinforced),
    ],
)
def test_the_gradient_is_that_of_the_formula(
    objective: ExpectedRisk, formula: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a whole space of outputs, whatever the chunks of positions."""
    monkeypatch.setattr(chunks, "CHUNK_SCORES", 7 * 23)
    model, batch = build(TransformerConfig(**SIZES, dropout=0.0)).train(), of_the_space()
    assert batch.candidates is not None
    found = objective.backward(model, batch, scale=0.5)
    gradients = {name: p.grad for name, p in model.named_parameters()}
    parameters = dict(model.named_parameters())
    log_p = log_probabilities(model, batch)
    risks, times = 1 - batch.candidates.rewards.double(), batch.candidates.times
    parts = [formula(*one, objective.sharpness) for one in zip(log_p, risks, times, strict=True)]
    loss = torch.stack(parts).sum()
    derived = torch.autograd.grad(loss, list(parameters.values()))
    expected = dict(zip(parameters, derived, strict=True))
    model.zero_grad()
    likelihood = CrossEntropy(0.1).backward(model, batch)
    for name, p in model.named_parameters():
        assert p.grad is not None
        whole = 0.5 * (expected[name] + objective.likelihood * p.grad)
        torch.testing.assert_close(gradients[name], whole, msg=name)
    torch.testing.assert_close(found["nll"], likelihood["nll"])
    whole_loss = found["risk"] / objective.sharpness + objective.likelihood * likelihood["loss"]
    torch.testing.assert_close(found["loss"], whole_loss)
    if objective.estimate == "renormalised":
        torch.testing.assert_close(found["risk"], objective.sharpness * loss.detach())
    assert {found[name].item() for name in ("candidates", "sentences", "tokens")} == {26, 2, 3}


def test_reinforce_estimates_the_gradient_of_the_expected_risk() -> None:
    """With every output as often as its probability, which is its mean number among samples."""
    objective, batch = ExpectedRisk(0.0, "reinforce", 1.0, 0.0), of_the_space()
    assert batch.candidates is not None
    log_p = torch.randn(len(SPACE), dtype=torch.float64, requires_grad=True)
    p = log_p.softmax(0)
    risks = 1 - batch.candidates.rewards[0].double()
    expected = (p * risks).sum()
    (wanted,) = torch.autograd.grad(expected, log_p)
    logarithms = log_p.log_softmax(0)
    risk, weights = objective.weights(logarithms.detach()[None], risks[None], p.detach()[None])
    (found,) = torch.autograd.grad((weights[0] * logarithms).sum(), log_p)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(risk, expected.detach())


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.floats(-90, 0), st.floats(0, 1), st.integers(0, 3)), min_size=1))
def test_weights_only_move_probability_between_candidates(
    outputs: list[tuple[float, float, int]],
) -> None:
    """They sum to 0, so that no candidate falls unless another rises, and skip what is none."""
    outputs = [(-1.0, 0.5, 1), *outputs]
    log_p, risks, times = torch.tensor(outputs, dtype=torch.float64).T[:, None]
    estimates: tuple[Estimate, ...] = ("renormalised", "reinforce")
    for estimate in estimates:
        objective = ExpectedRisk(0.0, estimate, 0.5, 0.0)
        risk, weights = objective.weights(log_p, risks, times)
        torch.testing.assert_close(weights.sum(), torch.zeros((), dtype=torch.float64))
        assert not weights[times == 0].any()
        assert 0 <= risk <= 1 + 1e-9


@pytest.mark.parametrize(
    "variation",
    [
        "transformer, pre-norm",
        "transformer, relative",
        "transformer, average attention",
        "transformer, linear attention",
        "transformer, the decoder is told the language",
        "recurrent",
        "recurrent, GNMT",
        "convs2s",
        "bytenet",
        "transformer_lm, source",
        "recurrent_lm, source",
        "deep_fusion",
    ],
)
def test_candidates_share_the_source_in_every_family(variation: str) -> None:
    """The risk is that of the log-probabilities of forced decoding, and something learns."""
    model = build(VARIATIONS[variation])
    outputs = [
        Outputs([[5, 6, 7], [8], []], [1.0, 0.2, 0.1], [0.0, 1.0, 2.0]),
        Outputs([[9], [10, 11, 12, 5], [6]], [1.0, 0.6, 0.3], [1.0, 1.0, 1.0]),
        Outputs([[7, 7], [7]], [1.0, 0.5], [1.0, 1.0]),
    ]
    sources = [[4, 5], [6, 7, 8, 9], [4, 10]]
    batch = with_outputs(make_batch(sources, [one.ids[0] for one in outputs]), outputs)
    objective = ExpectedRisk(0.0, "renormalised", 0.5, 0.0)
    expected = 0.0
    for source, one in zip(sources, outputs, strict=True):
        forced = make_batch([source] * len(one.ids), one.ids)
        log_p = score_targets(
            ModelScorer(model),
            forced.source,
            forced.source_mask,
            forced.target_input,
            forced.target_output,
        )
        risks = 1 - torch.tensor([one.rewards])
        expected += float(objective.weights(log_p[None], risks, torch.tensor([one.times]))[0])
    found = objective.backward(model.train(), batch)
    assert float(found["risk"]) == pytest.approx(expected, abs=1e-6)
    assert any(p.grad is not None and p.grad.abs().max() > 0 for p in model.parameters())


def test_a_mixture_of_experts_keeps_its_own_loss() -> None:
    model = build(VARIATIONS["transformer, experts"]).train()
    objective = ExpectedRisk(0.0, "renormalised", 0.5, 0.0)
    objective.backward(model, of_the_space())
    gates = [p for name, p in model.named_parameters() if "gat" in name]
    assert gates and all(p.grad is not None and p.grad.abs().max() > 0 for p in gates)


def test_the_balance_of_experts_counts_per_token_of_the_references() -> None:
    """As with likelihood, however many candidates there are; and the loss is what is minimised."""
    model = build(VARIATIONS["transformer, experts"]).train()
    objective, balance = ExpectedRisk(0.0, "renormalised", 1.0, 0.0), model.auxiliary_loss
    found: list[Tensor] = []
    model.auxiliary_loss = lambda *masks: found.append(balance(*masks)) or found[-1]  # type: ignore

    def loss() -> Tensor:
        torch.manual_seed(3)  # of the noise
        totals = objective.backward(model, of_the_space())
        torch.testing.assert_close(totals["loss"] - totals["risk"], 3 * found[-1].detach())
        return totals["loss"]

    loss()
    gate = model.get_parameter("decoder.0.feed_forward.gate.weight")
    assert gate.grad is not None
    gradient, step = gate.grad.clone(), 1e-6 * torch.randn_like(gate)
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            gate.add_(sign * step)
        values.append(loss())
        with torch.no_grad():
            gate.sub_(sign * step)
    difference = (values[0] - values[1]) / 2
    torch.testing.assert_close((gradient * step).sum(), difference, rtol=1e-4, atol=0)


def test_no_tensor_holds_the_scores_of_all_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_SCORES", 3 * 23)
    model, batch = build(TransformerConfig(**SIZES, dropout=0.0)).train(), of_the_space()
    assert batch.candidates is not None
    with LargestTensor() as seen:
        ExpectedRisk(0.1, "renormalised", 0.5, 0.1).backward(model, batch)
    assert seen.largest < batch.candidates.target_output.numel() * 23


def test_learning_lowers_the_risk() -> None:
    model, batch = build(TransformerConfig(**SIZES, dropout=0.0)).train(), of_the_space()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    risks = []
    for _ in range(30):
        optimizer.zero_grad()
        risks.append(
            float(ExpectedRisk(0.0, "renormalised", 1.0, 0.0).backward(model, batch)["risk"])
        )
        optimizer.step()
    assert risks[-1] < 0.7 * risks[0]


def test_figures_are_per_token_and_per_sentence() -> None:
    totals = {"loss": 8.0, "risk": 3.0, "nll": 2.0, "candidates": 20.0}
    totals |= {"sentences": 4.0, "tokens": 2.0}
    figures = ExpectedRisk(0.1, "renormalised", 0.005, 0.0).figures(totals)
    assert figures.pop("perplexity") == pytest.approx(2.7182818)
    assert figures == {"loss": 4.0, "nll": 1.0, "risk": 0.75, "candidates": 5.0}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"count": 1}, "count 1: a risk is lowered by comparing candidates; set 2 or more"),
        ({"count": 0}, "count: .* greater than or equal to 1"),
        ({"reward": "blue"}, "reward: .*'bleu'"),
        ({"sharpness": 0}, "sharpness: .* greater than 0"),
        ({"candidates": "nbest", "temperature": 0.5}, "temperature: 0.5 is not read with candid"),
        ({"estimate": "reinforce", "sharpness": 1}, "sharpness: 1.0 is not read with estimate"),
        ({"estimate": "reinforce", "reference": True}, "reference: True .* samples of the model"),
        ({"estimate": "reinforce", "candidates": "nbest"}, "candidates: nbest .* samples of"),
    ],
)
def test_settings_that_do_not_fit_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(TrainingConfig, {"objective": {"kind": "expected_risk", **values}}, "run.yaml")


def test_it_is_chosen_by_kind_and_for_translators_alone() -> None:
    training = parse(TrainingConfig, {"objective": {"kind": "expected_risk"}}, "run.yaml")
    objective = training.objective
    assert objective.build(0.2, TransformerConfig()) == ExpectedRisk(0.2, "renormalised", 0.005, 0)
    wanted = objective.wanted_candidates()
    assert wanted is not None and wanted.search.nbest == 8 and wanted.search.sampling is not None
    assert not list(objective.unfit(TransformerConfig()))
    for name in ("transformer_lm", "classifier"):
        (problem,) = objective.unfit(VARIATIONS[name])
        assert name in problem
    nbest = ExpectedRiskConfig(candidates="nbest", count=5).wanted_candidates()
    assert nbest.search.sampling is None and nbest.search.beam == 5
    assert not nbest.search.searches_again, "degenerate outputs are the model's own, too"
    mixed = ExpectedRiskConfig(estimate="reinforce", likelihood=0.017)
    assert mixed.build(0.1, TransformerConfig()) == ExpectedRisk(0.1, "reinforce", 1.0, 0.017)
