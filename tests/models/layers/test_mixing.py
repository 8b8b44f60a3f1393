"""Average attention, SSRU and separable convolutions against their papers, in float64 NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from families import VARIATIONS, build, random_ids, teacher_force
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor, nn
from torch.nn import functional

from dragoman.core.config import parse, read_yaml, to_yaml
from dragoman.core.errors import ConfigError
from dragoman.models import ConvS2SConfig, TransformerConfig
from dragoman.models.layers.average_attention import AverageAttention
from dragoman.models.layers.convolution import CausalDepthwise, CentredDepthwise
from dragoman.models.layers.mixing import DecoderMixing
from dragoman.models.layers.separable import DecoderSeparable, EncoderSeparable
from dragoman.models.layers.ssru import SSRU, linear_recurrence
from dragoman.models.layers.sublayers import FeedForward
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.weights import fixed_tensors, load_weights, read_tensors, write_tensors
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import Replicas

D_MODEL = 5
Array = np.ndarray
MIXED = [
    name
    for name, config in VARIATIONS.items()
    if isinstance(config, TransformerConfig) and config.mixing.chosen != {"self_attention"}
]

LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def random(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


M = TypeVar("M", bound=nn.Module)


def double(module: M) -> M:
    """In float64, with no weight left at 0, which would hide a mistake."""
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return module.double()


def arrays(module: nn.Module) -> dict[str, Array]:
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


def read_in(layer: DecoderMixing, x: Tensor, pieces: list[int]) -> Array:
    past, start, parts = layer.past(len(x), x), 0, []
    for part in x.split(pieces, dim=1):
        y, past = layer.read(part, past, start, None)
        start += part.shape[1]
        parts.append(y)
    return torch.cat(parts, dim=1).detach().numpy()


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@given(LENGTHS)
@settings(max_examples=15, deadline=None)
def test_average_attention(pieces: list[int]) -> None:
    layer = double(AverageAttention(D_MODEL, FeedForward(D_MODEL, 7, 0.0)))
    x, w = random(2, sum(pieces), D_MODEL), arrays(layer)
    found = read_in(layer, x, pieces)
    for row, t in np.ndindex(*x.shape[:2]):
        y = x[row, t].numpy()
        mean = x[row, : t + 1].numpy().mean(0)
        inner = np.maximum(0, w["feed_forward.inner.weight"] @ mean + w["feed_forward.inner.bias"])
        g = w["feed_forward.outer.weight"] @ inner + w["feed_forward.outer.bias"]
        gates = sigmoid(w["gates.weight"] @ np.concatenate([y, g]) + w["gates.bias"])
        expected = gates[:D_MODEL] * y + gates[D_MODEL:] * g
        np.testing.assert_allclose(found[row, t], expected, rtol=1e-12, atol=1e-14)


def ssru_by_hand(layer: nn.Module, x: Array) -> Array:
    """One sentence, one position after another."""
    w, c, outputs = arrays(layer), np.zeros(D_MODEL), []
    for position in x:
        f = sigmoid(w["forget.weight"] @ position + w["forget.bias"])
        c = f * c + (1 - f) * (w["candidate.weight"] @ position)
        outputs.append(np.maximum(0, c))
    return np.array(outputs)


@given(LENGTHS)
@settings(max_examples=15, deadline=None)
def test_ssru(pieces: list[int]) -> None:
    layer = double(SSRU(D_MODEL))
    x = random(2, sum(pieces), D_MODEL)
    found = read_in(layer, x, pieces)
    for row in range(2):
        expected = ssru_by_hand(layer, x[row].numpy())
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("length", [1, 2, 3, 64, 1000])
@pytest.mark.parametrize("extreme", [0.0, 30.0])
def test_the_recurrence_is_safe_in_float32(length: int, extreme: float) -> None:
    """Gates from nearly closed to nearly open; the closed form would divide by their product."""
    gates = (4 * random(1, length, D_MODEL) - extreme).sigmoid()
    gates[..., 0] = 1 - gates[..., 0]
    added, first = random(1, length, D_MODEL, seed=2), random(1, 1, D_MODEL, seed=3)
    expected, c = [], first[0, 0].numpy()
    for f, u in zip(gates[0].float().double().numpy(), added[0].numpy(), strict=True):
        c = f * c + (1 - f) * u
        expected.append(c)
    gates, u, c_0 = gates.float(), added.float(), first.float()
    found = linear_recurrence(gates, (1 - gates) * u, c_0)[0].double()
    np.testing.assert_allclose(found, np.array(expected), rtol=0, atol=3e-6)


@pytest.mark.parametrize("pieces", [[600], [1] * 600], ids=["at once", "step by step"])
def test_ssru_in_bfloat16_errs_by_the_rounding_of_its_gates_alone(pieces: list[int]) -> None:
    """The cell is kept in float32: with 8 bits, small updates of it would be lost."""
    layer = double(SSRU(D_MODEL)).bfloat16()
    with torch.no_grad():
        layer.get_parameter("forget.weight").mul_(0.1)
        layer.get_parameter("forget.bias").fill_(5.0)  # remembers some 150 positions
    x = random(1, 1, D_MODEL).bfloat16().expand(1, 600, D_MODEL)  # goes on in one direction
    exact = SSRU(D_MODEL).double()
    exact.load_state_dict(layer.state_dict())
    expected = ssru_by_hand(exact, x[0].double().numpy())
    with torch.no_grad():
        past, parts = layer.past(1, x), []
        for part in x.split(pieces, dim=1):
            y, past = layer.read(part, past, 0, None)
            parts.append(y)
    found = torch.cat(parts, dim=1)
    assert found.dtype == torch.bfloat16
    assert past.dtype == torch.float32
    np.testing.assert_allclose(found[0].double(), expected, rtol=0.04, atol=0.01)
    assert expected.max() > 0.5


def test_gradients_of_the_recurrence_are_the_numerical_ones() -> None:
    gates = random(2, 6, 3).sigmoid().requires_grad_()
    added, first = (random(2, n, 3, seed=n).requires_grad_() for n in (6, 1))
    assert torch.autograd.gradcheck(linear_recurrence, (gates, added, first))


def depthwise_by_hand(weight: Array, x: Array, left: int) -> Array:
    """``y_t = sum_j w_j * x_(t - left + j)``; zeros beyond the sentence."""
    result = np.zeros_like(x)
    for t, j in np.ndindex(len(x), len(weight)):
        if 0 <= t - left + j < len(x):
            result[t] += weight[j] * x[t - left + j]
    return result


@given(LENGTHS, st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_separable_convolution_of_the_decoder(pieces: list[int], width: int) -> None:
    layer = double(DecoderSeparable(D_MODEL, width))
    x, w = random(2, sum(pieces), D_MODEL), arrays(layer)
    found = read_in(layer, x, pieces)
    for row in range(2):
        depthwise = depthwise_by_hand(w["depthwise.weight"], x[row].numpy(), width - 1)
        expected = depthwise @ w["pointwise.weight"].T
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("width", [1, 3, 7])
def test_separable_convolution_of_the_encoder(width: int) -> None:
    layer = double(EncoderSeparable(D_MODEL, width))
    x, w, lengths = random(2, 6, D_MODEL), arrays(layer), [6, 4]
    mask = torch.arange(6) < torch.tensor(lengths)[:, None]
    found = layer.mix(x, layer.shared(mask, x)).detach().numpy()
    for row, length in enumerate(lengths):
        sentence = x[row, :length].numpy()
        depthwise = depthwise_by_hand(w["depthwise.weight"], sentence, width // 2)
        expected = depthwise @ w["pointwise.weight"].T
        np.testing.assert_allclose(found[row, :length], expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dilation", [1, 2])
def test_depthwise_convolutions_are_torchs(dilation: int) -> None:
    x, width = random(2, 9, D_MODEL), 3
    for kind, padding in ((CausalDepthwise, (width - 1) * dilation), (CentredDepthwise, dilation)):
        ours: Any = kind(D_MODEL, width, dilation).double()
        weight = ours.weight.detach().t().unsqueeze(1)
        theirs = functional.conv1d(
            x.transpose(1, 2), weight, padding=padding, dilation=dilation, groups=D_MODEL
        )[..., :9].transpose(1, 2)
        found = ours.extend(x, ours.start(2, x))[0] if kind is CausalDepthwise else ours(x)
        torch.testing.assert_close(found, theirs)


def sizes(state: Any) -> list[torch.Size]:
    return [layer.shape for layer in state.layers]


@pytest.mark.parametrize("name", ["separable convolution", "average attention", "SSRU"])
def test_what_is_kept_does_not_grow(name: str) -> None:
    model = build(VARIATIONS[f"transformer, {name}"])
    source = random_ids(2, 5)
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    state = model.start(memory)
    first = sizes(state)
    for length in (1, 4, 9):
        _, state = model.decode(random_ids(2, length), memory, state)
        assert sizes(state) == first


def test_a_fixed_tensor_is_saved_and_restored(tmp_path: Path) -> None:
    """Other seeds give other random features; the saved ones count."""
    config = VARIATIONS["transformer, linear attention"]
    model, other = build(config, seed=1).float(), build(config, seed=2).float()
    source, target = random_ids(2, 6), random_ids(2, 5, seed=3)
    mask = torch.ones_like(source, dtype=torch.bool)
    optimizer = Replicas(model, AdamConfig(), torch.float32)
    write_tensors(tmp_path / "weights", optimizer.weights())
    weights = read_tensors(tmp_path / "weights")
    expected = teacher_force(model, source, mask, target)
    assert not torch.allclose(teacher_force(other, source, mask, target), expected)
    load_weights(other, weights, tmp_path)
    assert torch.equal(teacher_force(other, source, mask, target), expected)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_a_checkpoint_restores_fixed_tensors(precision: torch.dtype) -> None:
    config = VARIATIONS["transformer, linear attention"]
    model, other = build(config, seed=1).float(), build(config, seed=2).float()
    drawn = {name: t.clone() for name, t in fixed_tensors(model).items()}
    first, second = (Replicas(m, AdamConfig(), precision) for m in (model, other))
    second.restore(first.weights(), {})
    for name, tensor in fixed_tensors(other).items():
        assert tensor.dtype == precision
        assert torch.equal(tensor.float(), drawn[name])  # rounded to bfloat16 when drawn
        assert torch.equal(second.weights()[name], drawn[name])


@pytest.mark.parametrize(
    ("kind", "choices", "message"),
    [
        (TransformerConfig, {"kernel_width": 5}, "kernel_width: 5 is not read without separable"),
        (TransformerConfig, {"relative_distance": 3}, "relative_distance: 3 is not read without"),
        (
            TransformerConfig,
            {"positions": "rotary", "max_positions": 9},
            "max_positions: 9 is not read without positions: learned",
        ),
        (
            TransformerConfig,
            {
                "encoder_mixing": "separable_convolution",
                "decoder_mixing": "ssru",
                "positions": "alibi",
            },
            "positions: alibi needs self_attention",
        ),
        (
            TransformerConfig,
            {"encoder_mixing": "linear_attention", "decoder_mixing": "ssru", "window": 3},
            "window: 3 is not read without self_attention",
        ),
        (
            TransformerConfig,
            {"decoder_mixing": "separable_convolution", "kernel_width": 4},
            "must be odd",
        ),
        (ConvS2SConfig, {"averaging_window": 3}, "averaging_window: 3 is not read without"),
        (
            ConvS2SConfig,
            {"encoder": "averaging", "encoder_layers": 3},
            "encoder_layers: 3 is not read with encoder: averaging",
        ),
        (
            ConvS2SConfig,
            {"encoder": "averaging", "encoder_kernel_width": 5},
            "encoder_kernel_width: 5 is not read with encoder: averaging",
        ),
    ],
)
def test_settings_that_nothing_reads_are_refused(
    kind: Any, choices: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        kind(**choices)


def test_one_side_with_self_attention_reads_its_settings() -> None:
    TransformerConfig(decoder_mixing="ssru", window=3, positions="rotary")


@pytest.mark.parametrize("config", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_a_resolved_configuration_can_be_read_again(config: Any, tmp_path: Path) -> None:
    """With every default written out, also of what is not read."""
    path = tmp_path / "config.yaml"
    path.write_text(to_yaml({"model": config.model_dump()}), encoding="utf-8")
    assert parse(SavedConfig, read_yaml(path), path).model == config


def test_the_refusal_is_one_line_for_people() -> None:
    values = {"model": {"relative_distance": 3}}
    with pytest.raises(ConfigError) as caught:
        parse(SavedConfig, values, "run.yaml")
    assert str(caught.value) == (
        "run.yaml: model: relative_distance: 3 is not read without positions: relative; remove it"
    )
