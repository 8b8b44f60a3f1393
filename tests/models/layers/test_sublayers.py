"""Feed-forward sublayers and normalisations against their papers' formulas in float64 NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from torch import nn

from dragoman.models.layers.dropout import keep_mask, seed_dropout
from dragoman.models.layers.sublayers import (
    GATES,
    FeedForwardConfig,
    GatedFeedForward,
    Residual,
    ResidualConfig,
    build_feed_forward,
    final_norm,
    normalization,
)

Array = np.ndarray


M = TypeVar("M", bound=nn.Module)


def double(module: M) -> M:
    """In float64, with no weight left at 0 or 1, which would hide a mistake."""
    module.double()
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def rows(count: int = 3, width: int = 5) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(count, width, dtype=torch.float64, generator=generator)


def arrays(module: nn.Module) -> dict[str, Array]:
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


def feed_forward(dropout: float, activation: Any) -> nn.Module:
    config = FeedForwardConfig(d_ff=7, activation=activation, feed_forward_dropout=dropout)
    return double(build_feed_forward(5, config))


def residual_of(dropout: float, norm: Any, kind: Any = "layer") -> Any:
    config = ResidualConfig(dropout=dropout, norm=norm, normalization=kind)
    return double(Residual(5, config))


@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        ("relu", lambda x: max(x, 0.0)),
        ("gelu", lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
        (
            "gelu_tanh",
            lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
        ),
        ("swish", lambda x: x / (1 + math.exp(-x))),
    ],
)
def test_feed_forward(activation: str, formula: Callable[[float], float]) -> None:
    layer = feed_forward(0.0, activation)
    w, x = arrays(layer), rows()
    inner = np.vectorize(formula)(x.numpy() @ w["inner.weight"].T + w["inner.bias"])
    expected = inner @ w["outer.weight"].T + w["outer.bias"]
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        ("swiglu", lambda x: x / (1 + math.exp(-x))),
        ("geglu", lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
        (
            "geglu_tanh",
            lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
        ),
    ],
)
def test_a_gated_one_has_three_matrices_and_no_bias(
    activation: str, formula: Callable[[float], float]
) -> None:
    layer = feed_forward(0.0, activation)
    w, x = arrays(layer), rows().numpy()
    assert set(w) == {"gate.weight", "inner.weight", "outer.weight"}
    inner = np.vectorize(formula)(x @ w["gate.weight"].T) * (x @ w["inner.weight"].T)
    np.testing.assert_allclose(
        layer(rows()).detach().numpy(), inner @ w["outer.weight"].T, rtol=1e-12
    )


def by_hand(kind: str, x: Array, weights: dict[str, Array], epsilon: float = 1e-5) -> Array:
    if kind == "rms":
        return x / np.sqrt((x**2).mean(1, keepdims=True) + epsilon) * weights["weight"]
    centred = x - x.mean(1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(1, keepdims=True) + epsilon)
    return scaled * weights["weight"] + weights["bias"]


@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize("epsilon", [1e-5, 1e-2])
def test_normalizations(kind: Any, epsilon: float) -> None:
    config = ResidualConfig(normalization=kind, norm_epsilon=epsilon)
    layer = double(normalization(5, config))
    expected = by_hand(kind, rows().numpy(), arrays(layer), epsilon)
    np.testing.assert_allclose(layer(rows()).detach().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_residual_normalizes_after_or_before(kind: Any) -> None:
    x = rows().numpy()
    post, pre = (residual_of(0.0, norm, kind) for norm in ("post", "pre"))
    weights = arrays(post.norm)
    expected = by_hand(kind, x + x**3, weights)
    found = post(rows(), lambda y: y**3).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    found = pre(rows(), lambda y: y**3).detach().numpy()
    np.testing.assert_allclose(found, x + by_hand(kind, x, weights) ** 3, rtol=1e-12)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_what_a_sublayer_adds_is_dropped_out(norm: str) -> None:
    """On its output, "before it is added to the sub-layer input and normalized" (section 5.4)."""
    residual = residual_of(0.4, norm).train()
    seed_dropout(3)
    found = residual(rows(), torch.tanh)
    seed_dropout(3)
    kept = keep_mask(torch.Size([3, 5]), 0.4, torch.float64)
    if norm == "pre":
        expected = rows() + kept * torch.tanh(residual.norm(rows()))
    else:
        expected = residual.norm(rows() + kept * torch.tanh(rows()))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_dropout_inside_the_feed_forward_sublayer(activation: str) -> None:
    """On what the outer matrix reads, whatever the activation."""
    layer = feed_forward(0.4, activation).train()
    inner: list[torch.Tensor] = []
    outer = layer.get_submodule("outer")
    outer.register_forward_pre_hook(lambda module, inputs: inner.append(inputs[0]))
    seed_dropout(3)
    layer(rows())
    layer.eval()(rows())
    seed_dropout(3)
    kept = keep_mask(torch.Size([3, 7]), 0.4, torch.float64)
    torch.testing.assert_close(inner[0], kept * inner[1])


def test_a_stack_is_closed_where_it_was_left_open() -> None:
    assert isinstance(final_norm(5, ResidualConfig(norm="post", normalization="rms")), nn.Identity)
    assert isinstance(final_norm(5, ResidualConfig(norm="pre", normalization="rms")), nn.RMSNorm)
    assert isinstance(final_norm(5, ResidualConfig(norm="pre")), nn.LayerNorm)
    assert isinstance(final_norm(5, ResidualConfig(norm="pre", final_norm=False)), nn.Identity)
    assert isinstance(final_norm(5, ResidualConfig(norm="post", final_norm=True)), nn.LayerNorm)


def test_rms_of_small_rows_in_bfloat16_is_one() -> None:
    """With PyTorch's own epsilon for bfloat16 rows below 0.1 would not be normalised."""
    small = torch.full((1, 8), 0.05, dtype=torch.bfloat16)
    found = normalization(8, ResidualConfig(normalization="rms")).bfloat16()(small)
    torch.testing.assert_close(found, torch.ones_like(found), rtol=0, atol=0.01)


def test_a_gate_is_added_by_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """ReGLU (Shazeer 2020, equation 6), as somebody who adds it would."""
    monkeypatch.setitem(GATES, "reglu", torch.relu)
    config = FeedForwardConfig().model_copy(update={"d_ff": 7, "activation": "reglu"})
    layer = build_feed_forward(5, config)
    assert isinstance(layer, GatedFeedForward)
    x = torch.randn(3, 5, generator=torch.Generator().manual_seed(1))
    expected = (torch.relu(x @ layer.gate.weight.T) * (x @ layer.inner.weight.T)) @ (
        layer.outer.weight.T
    )
    torch.testing.assert_close(layer(x), expected)
