"""Gates and balancing losses against the paper's equations, position by position, in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from families import build, random_ids
from pydantic import ValidationError
from torch import nn

from dragoman.data.batches import Batch, make_batch
from dragoman.models import TransformerConfig
from dragoman.models.layers.mixture import Mixture, MixtureConfig, expert_figures
from dragoman.training.objectives import CrossEntropy

D_MODEL, EXPERTS, K = 5, 4, 2
CONFIG = MixtureConfig(experts=EXPERTS, experts_per_token=K, importance_loss=0.3, load_loss=0.7)
Array = np.ndarray


def mixture() -> Mixture:
    torch.manual_seed(3)
    layer = Mixture(D_MODEL, CONFIG, lambda: nn.Linear(D_MODEL, D_MODEL)).double()
    with torch.no_grad():
        for linear in (layer.gate, layer.noise):
            linear.weight.normal_()
    return layer


def inputs() -> torch.Tensor:
    return torch.randn(
        2, 6, D_MODEL, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )


def gates(h: Array) -> Array:
    """Equations 3 and 5: a softmax over the k highest, 0 elsewhere."""
    kept = sorted(range(EXPERTS), key=lambda i: -h[i])[:K]
    powers = np.array([math.exp(h[i]) if i in kept else 0.0 for i in range(EXPERTS)])
    return powers / powers.sum()


def linears(layer: Mixture) -> list[Any]:
    return list(layer.experts)


def combined(layer: Mixture, x: Array, g: Array) -> Array:
    outputs = [
        x @ expert.weight.detach().numpy().T + expert.bias.detach().numpy()
        for expert in linears(layer)
    ]
    return sum(weight * output for weight, output in zip(g, outputs, strict=True))


def test_evaluation_has_no_noise() -> None:
    layer = mixture().eval()
    found = layer(inputs()).detach().numpy()
    w = layer.gate.weight.detach().numpy()
    for place in np.ndindex(2, 6):
        x = inputs()[place].numpy()
        np.testing.assert_allclose(found[place], combined(layer, x, gates(w @ x)), rtol=1e-12)


def test_training_adds_noise_and_balances() -> None:
    layer = mixture().train()
    torch.manual_seed(9)
    found = layer(inputs()).detach().numpy()
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    loss = layer.balancing_loss(mask).item()
    torch.manual_seed(9)
    noise = torch.randn(12, EXPERTS, dtype=torch.float64).view(2, 6, EXPERTS).numpy()
    w, w_noise = (linear.weight.detach().numpy() for linear in (layer.gate, layer.noise))
    importance, load = np.zeros(EXPERTS), np.zeros(EXPERTS)
    for place in np.ndindex(2, 6):
        x = inputs()[place].numpy()
        clean, deviation = w @ x, np.log1p(np.exp(w_noise @ x)) + 0.01
        h = clean + noise[place] * deviation
        np.testing.assert_allclose(found[place], combined(layer, x, gates(h)), rtol=1e-10)
        if mask[place]:
            importance += gates(h)
            for i in range(EXPERTS):  # equations 8 and 9
                kth_excluding = sorted(np.delete(h, i))[-K]
                normal = (clean[i] - kth_excluding) / deviation[i]
                load[i] += (1 + math.erf(normal / math.sqrt(2))) / 2
    expected = 0.3 * (importance.std() / importance.mean()) ** 2
    expected += 0.7 * (load.std() / load.mean()) ** 2
    assert loss == pytest.approx(expected, rel=1e-10)


def test_an_expert_that_nobody_wants_does_no_harm() -> None:
    layer = mixture().train()
    with torch.no_grad():
        layer.gate.weight.zero_()
        layer.gate.weight[:2, 0] = 100.0
        layer.noise.weight.zero_()
    x = inputs().abs().requires_grad_()
    layer(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert linears(layer)[3].weight.grad.abs().sum() == 0
    assert linears(layer)[1].weight.grad.abs().sum() > 0


def batch() -> Batch:
    source, target = random_ids(2, 5), random_ids(2, 4, seed=2)
    return Batch(source, source != 0, target, target, torch.arange(2), target.numel())


def test_training_minimises_the_balancing_loss_too() -> None:
    """For each target position, so that a gradient by tokens is one of the mean."""
    strong = MixtureConfig(experts=3, importance_loss=5.0, load_loss=3.0)
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 10, "d_ff": 13, "heads": 2}
    config = TransformerConfig(**sizes, dropout=0.0, mixture=strong)
    model = build(config).train()
    torch.manual_seed(1)
    loss = CrossEntropy(0.1).backward(model, batch())
    torch.manual_seed(1)
    b = batch()
    memory = model.encode(b.source, b.source_mask)
    hidden, _ = model.decode(b.target_input, memory, model.start(memory))
    scores = model.logits(hidden).flatten(0, 1)
    whole = nn.functional.cross_entropy(
        scores, b.target_output.flatten(), reduction="sum", label_smoothing=0.1
    )
    auxiliary = model.auxiliary_loss(b.source_mask, b.target_output != 0)
    assert auxiliary is not None
    assert auxiliary > 0.1
    whole = whole + 8 * auxiliary
    torch.testing.assert_close(loss["loss"].double(), whole.detach(), rtol=1e-5, atol=1e-5)
    parameters = dict(model.named_parameters())
    expected = torch.autograd.grad(whole, list(parameters.values()))
    for (name, parameter), gradient in zip(parameters.items(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, msg=name)
    assert model.eval().auxiliary_loss(b.source_mask, b.target_output != 0) is None


def test_balancing_losses_are_of_each_batch_and_all_else_adds_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two batches of a step are their joint one without these losses, and are not with them."""
    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)  # noise is each batch's own
    sources, targets = [[4, 5, 6, 7], [8], [9, 4], [6, 6, 6]], [[5], [6, 7, 4], [8, 9], [4, 4]]
    first, second = (make_batch(sources[i : i + 2], targets[i : i + 2]) for i in (0, 2))
    joint = make_batch(sources, targets)
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 10, "d_ff": 13, "heads": 2}

    def step(weight: float, *batches: Batch) -> tuple[float, torch.Tensor, list[float]]:
        """The loss of a step, its gradient, and the balancing loss of each batch."""
        mixture = MixtureConfig(experts=3, importance_loss=weight, load_loss=weight)
        model = build(TransformerConfig(**sizes, dropout=0.0, mixture=mixture)).train()
        auxiliary, whole = model.auxiliary_loss, 0.0
        told: list[float] = []

        def overheard(source_mask: torch.Tensor, target_mask: torch.Tensor) -> torch.Tensor | None:
            found = auxiliary(source_mask, target_mask)
            assert found is not None
            told.append(found.item())
            return found

        monkeypatch.setattr(model, "auxiliary_loss", overheard)
        for one in batches:
            whole += CrossEntropy(0.1).backward(model, one)["loss"].item()
        gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        return whole, torch.cat(gradients), told

    many, many_gradient, none = step(0.0, first, second)
    one, one_gradient, _ = step(0.0, joint)
    assert none == [0.0, 0.0]
    assert many == pytest.approx(one)
    torch.testing.assert_close(many_gradient, one_gradient)
    balanced, balanced_gradient, (a, b) = step(5.0, first, second)
    tokens = first.target_tokens, second.target_tokens
    assert balanced - many == pytest.approx(tokens[0] * a + tokens[1] * b)
    _, joint_gradient, (together,) = step(5.0, joint)
    assert sum(tokens) * together != pytest.approx(tokens[0] * a + tokens[1] * b, rel=0.01)
    assert not torch.allclose(balanced_gradient, joint_gradient, rtol=0.1)


def test_figures_tell_how_evenly_experts_were_used() -> None:
    """Of all passes since last asked, without padding, against a count position by position."""
    layers = [mixture().train(), mixture().train()]
    with torch.no_grad():
        layers[1].gate.weight *= 3
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    shares: list[Any] = []
    variations: dict[str, list[Any]] = {"load": [], "importance": []}
    for layer in layers:
        passes = [inputs(), inputs() ** 2, -inputs()]
        w, w_noise = (linear.weight.detach().numpy() for linear in (layer.gate, layer.noise))
        chosen = np.zeros((0, EXPERTS))
        for x in passes:
            torch.manual_seed(1)
            noise = torch.randn(12, EXPERTS, dtype=torch.float64).view(2, 6, EXPERTS).numpy()
            h = x.numpy() @ w.T + noise * (np.log1p(np.exp(x.numpy() @ w_noise.T)) + 0.01)
            chosen = np.concatenate([chosen, [gates(row) for row in h[mask.numpy()]]])
            torch.manual_seed(1)
            layer(x)
            layer.balancing_loss(mask)
        load, importance = (chosen > 0).sum(0), chosen.sum(0)
        shares += list(load / len(chosen))
        variations["load"].append(load.std() / load.mean())
        variations["importance"].append(importance.std() / importance.mean())
    figures = expert_figures(nn.ModuleList(layers))
    assert figures["least_used_expert"] == pytest.approx(min(shares))
    assert figures["most_used_expert"] == pytest.approx(max(shares))
    assert figures["expert_load_variation"] == pytest.approx(max(variations["load"]))
    assert figures["expert_importance_variation"] == pytest.approx(max(variations["importance"]))
    assert min(shares) < K / EXPERTS < max(shares)
    assert expert_figures(nn.ModuleList(layers)) == {}


def test_the_figures_of_a_model_are_of_its_training_passes() -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 10, "d_ff": 13, "heads": 2}
    config = TransformerConfig(**sizes, dropout=0.0, mixture=MixtureConfig(experts=3))
    model = build(config)
    CrossEntropy(0.1).backward(model.train(), batch())
    figures = model.figures()
    assert 0 <= figures["least_used_expert"] <= 2 / 3 <= figures["most_used_expert"] <= 1
    with torch.no_grad():
        model.eval().encode(batch().source, batch().source_mask)
    assert model.figures() == {}
    assert build(TransformerConfig(**sizes)).figures() == {}


def test_some_experts_rest() -> None:
    with pytest.raises(ValidationError, match="experts_per_token 3 must be less than experts 3"):
        MixtureConfig(experts=3, experts_per_token=3)


def test_gradient_is_finite_however_little_noise_there_is() -> None:
    mixture = Mixture(4, CONFIG, lambda: nn.Linear(4, 4)).train()
    nn.init.constant_(mixture.noise.weight, -60.0)
    torch.manual_seed(1)
    mixture(torch.ones(1, 3, 4) + 0.1 * torch.rand(1, 3, 4))
    mixture.balancing_loss(torch.ones(1, 3, dtype=torch.bool)).backward()
    for parameter in (mixture.noise.weight, mixture.gate.weight):
        assert parameter.grad is not None and parameter.grad.isfinite().all()
