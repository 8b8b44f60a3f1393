"""Random features against softmax attention and against the paper's sums in float64 NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from families import VARIATIONS, build, random_ids, teacher_force
from hypothesis import given, settings
from hypothesis import strategies as st
from largest_tensor import LargestTensor
from pydantic import ValidationError
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from dragoman.models import TransformerConfig
from dragoman.models.interface import select
from dragoman.models.layers import linear_attention
from dragoman.models.layers.attention import KeysValues, attend, causal_bias
from dragoman.models.layers.linear_attention import (
    DecoderLinearAttention,
    EncoderLinearAttention,
    KeySums,
    RandomFeatures,
    causal_attention,
    orthogonal_directions,
)
from dragoman.saved.weights import fixed_tensors

HEADS, D_K, D_V, FEATURES = 2, 5, 3, 11
Array = np.ndarray


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short inputs then take several."""
    monkeypatch.setattr(linear_attention, "_CHUNK", 3)


def random(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def inputs(length: int) -> tuple[Tensor, Tensor, Tensor]:
    return (
        random(2, HEADS, length, D_K),
        random(2, HEADS, length, D_K, seed=2),
        random(2, HEADS, length, D_V, seed=3),
    )


def features_of(count: int = FEATURES, d_k: int = D_K, heads: int = HEADS) -> RandomFeatures:
    torch.manual_seed(4)
    return RandomFeatures(heads, count, d_k).double()


def kernel(directions: Array, q: Array, k: Array) -> float:
    """The mean of products of features, as lemma 1 has it."""
    phi_q = [math.exp(w @ q - q @ q / 2) for w in directions]
    phi_k = [math.exp(w @ k - k @ k / 2) for w in directions]
    return sum(a * b for a, b in zip(phi_q, phi_k, strict=True)) / len(directions)


def by_hand(features: RandomFeatures, q: Array, k: Array, v: Array, *, causal: bool) -> Array:
    """Pair by pair, for one row: ``(heads, length, d_v)``."""
    directions = features.directions.numpy()
    context = np.zeros_like(v)
    for head, i in np.ndindex(q.shape[:2]):
        seen = range(i + 1 if causal else k.shape[1])
        weights = np.array([kernel(directions[head], q[head, i], k[head, j]) for j in seen])
        context[head, i] = weights @ v[head, : len(weights)] / weights.sum()
    return context


@pytest.mark.parametrize("pieces", [[1], [2, 1], [7], [1, 1, 4, 2], [3, 3], [8, 1]])
def test_causal_equals_the_quadratic_form(pieces: list[int]) -> None:
    """In chunks, and read in pieces that are not chunks."""
    features = features_of()
    q, k, v = inputs(sum(pieces))
    past = KeySums.empty(2, HEADS, FEATURES, D_V, v)
    parts = []
    split = (x.split(pieces, dim=2) for x in (features(q), features(k), v))
    for queries, keys, values in zip(*split, strict=True):
        context, past = causal_attention(queries, keys, values, past)
        parts.append(context)
    found = torch.cat(parts, dim=2).numpy()
    for row in range(2):
        expected = by_hand(features, q[row].numpy(), k[row].numpy(), v[row].numpy(), causal=True)
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-14)


def projections(layer: torch.nn.Module, x: Array) -> dict[str, Array]:
    """Heads by hand: ``(heads, length, width)`` each."""
    parts = {}
    for name in ("query", "key", "value"):
        flat = x @ getattr(layer, name).weight.detach().numpy().T
        parts[name] = flat.reshape(len(x), HEADS, -1).transpose(1, 0, 2)
    return parts


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("causal", [False, True])
def test_the_sublayers(causal: bool, scale: float | None) -> None:
    torch.manual_seed(0)
    sizes = (7, HEADS, D_K, D_V)
    kind = DecoderLinearAttention if causal else EncoderLinearAttention
    layer = kind(*sizes, features=FEATURES, scale=scale).double()
    x, lengths = random(2, 8, 7), [8, 5]
    mask = torch.arange(8) < torch.tensor(lengths)[:, None]
    if isinstance(layer, DecoderLinearAttention):
        found, _ = layer.read(x, layer.past(2, x), 0, None)
    else:
        found = layer.mix(x, layer.shared(mask, x))
    factor = math.sqrt(scale or 1 / math.sqrt(D_K))
    for row, length in enumerate(lengths):
        p = projections(layer, x[row, :length].numpy())
        q, k = factor * p["query"], factor * p["key"]
        context = by_hand(layer.features, q, k, p["value"], causal=causal)
        joined = context.transpose(1, 0, 2).reshape(length, -1)
        expected = joined @ layer.output.weight.detach().numpy().T
        ours = found[row, :length].detach().numpy()
        np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-13)


def test_directions_are_orthogonal_normal_vectors() -> None:
    torch.manual_seed(1)
    d_k, heads = 8, 200
    w = orthogonal_directions(heads, 11, d_k)
    assert w.shape == (heads, 11, d_k)
    first = w[:, :d_k] / w[:, :d_k].norm(dim=-1, keepdim=True)
    identity = torch.eye(d_k).expand(heads, -1, -1)
    torch.testing.assert_close(first @ first.transpose(1, 2), identity, rtol=0, atol=0.01)
    others = w[:, d_k:] / w[:, d_k:].norm(dim=-1, keepdim=True)
    assert (first @ others.transpose(1, 2)).abs().max() > 0.5  # another block, drawn by itself
    # Each number is that of a standard normal: mean 0, variance 1, fourth moment 3.
    assert w.mean().abs() < 0.04
    assert w.square().mean().item() == pytest.approx(1, abs=0.04)
    assert w.pow(4).mean().item() == pytest.approx(3, abs=0.2)
    # No direction is preferred, which QR alone would do.
    assert first.mean(0).abs().max() < 5 / math.sqrt(heads * d_k)


def errors(features: int, causal: bool, draws: int = 40) -> float:
    """Root mean square distance from softmax attention over draws of the features."""
    q, k, v = inputs(9)
    q, k, scale = q / 4, k / 4, D_K**-0.25  # the variance grows with exp(|q + k|^2)
    exact = attend(q, KeysValues(k, v), causal_bias(0, 9, q) if causal else None)
    squares = []
    for draw in range(draws):
        torch.manual_seed(draw)
        phi = RandomFeatures(HEADS, features, D_K).double()
        log_q, log_k = phi(q * scale), phi(k * scale)
        if causal:
            found, _ = causal_attention(log_q, log_k, v, KeySums.empty(2, HEADS, features, D_V, v))
        else:
            found = KeySums.of(log_k, v).seen(log_q).context()
        squares.append((found - exact).square().mean().item())
    return math.sqrt(np.mean(squares))


@pytest.mark.parametrize("causal", [False, True])
def test_approaches_softmax_as_one_over_the_root_of_features(causal: bool) -> None:
    counts = [16, 64, 256, 1024]
    found = [errors(count, causal) for count in counts]
    slope = np.polyfit(np.log(counts), np.log(found), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.1)
    assert found[-1] < 0.005


def test_gradients_are_the_numerical_ones() -> None:
    features = features_of(4)
    q, k, v = (x[:1].clone().requires_grad_() for x in inputs(5))

    def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        past = KeySums.empty(1, HEADS, 4, D_V, v)
        parts = []
        for x, y, z in zip(*(each.split(2, dim=2) for each in (q, k, v)), strict=True):
            context, past = causal_attention(features(x), features(y), z, past)
            parts.append(context)
        return torch.cat(parts, dim=2)

    def both_ways(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return KeySums.of(features(k), v).seen(features(q)).context()

    assert torch.autograd.gradcheck(causal, (q, k, v))
    assert torch.autograd.gradcheck(both_ways, (q, k, v))


@pytest.mark.parametrize("size", [1e-3, 1.0, 10.0, 40.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_large_keys_do_no_harm_to_others(size: float, dtype: torch.dtype) -> None:
    """No stabiliser depends on later positions, on padding or on other sentences."""
    features = features_of(16).to(dtype)
    q, k, v = (x.to(dtype) for x in inputs(8))
    log_q, log_k, v = features(q), features(k), v.float()
    empty = KeySums.empty(2, HEADS, 16, D_V, v)
    calm, _ = causal_attention(log_q, log_k, v, empty)
    wild = k.clone()
    wild[1] *= size
    wild[:, :, 7] *= size
    found, _ = causal_attention(log_q, features(wild), v, empty)
    assert torch.equal(found[0, :, :7], calm[0, :, :7])
    assert found.isfinite().all()
    assert KeySums.of(features(wild), v).seen(log_q).context().isfinite().all()


def test_huge_queries_and_keys_leave_gradients_finite() -> None:
    features = features_of(16).float()
    q, k, v = (30 * x.float() for x in inputs(7))
    for x in (q, k, v):
        x.requires_grad_()
    empty = KeySums.empty(2, HEADS, 16, D_V, v.detach())
    context, _ = causal_attention(features(q), features(k), v, empty)
    assert context.isfinite().all()
    context.square().sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (q, k, v))


lengths = st.integers(1, 9)


@settings(max_examples=15, deadline=None)
@given(pieces=st.lists(st.integers(1, 5), min_size=1, max_size=4), source=lengths)
def test_a_model_in_several_chunks(pieces: list[int], source: int) -> None:
    model = build(VARIATIONS["transformer, linear attention"])
    read, target = random_ids(2, source), random_ids(2, sum(pieces), seed=2)
    mask = torch.ones_like(read, dtype=torch.bool)
    at_once = teacher_force(model, read, mask, target)
    memory = model.encode(read, mask)
    state, parts = model.start(memory), []
    for part in target.split(pieces, dim=1):
        hidden, state = model.decode(part, memory, select(state, torch.arange(2)))
        parts.append(model.logits(hidden))
    torch.testing.assert_close(torch.cat(parts, dim=1), at_once)


def costs(length: int) -> dict[str, int]:
    """Operations of either side with as long a sentence, and its largest tensor."""
    model = build(VARIATIONS["transformer, linear attention"])
    ids, few = random_ids(1, length), random_ids(1, 5)
    largest = LargestTensor()
    encoding, decoding = FlopCounterMode(display=False), FlopCounterMode(display=False)
    with torch.no_grad(), largest:
        with encoding:
            model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
        memory = model.encode(few, torch.ones_like(few, dtype=torch.bool))
        with decoding:
            model.decode(ids, memory, model.start(memory))
    return {
        "encoder": encoding.get_total_flops(),
        "decoder": decoding.get_total_flops(),
        "largest": largest.largest,
    }


def test_cost_is_linear_in_the_length() -> None:
    once, twice = costs(60), costs(120)
    # The source's own keys and values are of five positions, whatever the target's length.
    assert twice["encoder"] == 2 * once["encoder"]
    assert twice["largest"] == 2 * once["largest"]
    model = build(VARIATIONS["transformer, linear attention"])
    few = random_ids(1, 5)
    assert twice["decoder"] == 2 * once["decoder"]
    # Neither (length, length) nor (length, features, d_v) for each of two heads.
    assert twice["largest"] == 120 * FEATURES * HEADS < 120 * 120 * HEADS
    memory = model.encode(few, torch.ones_like(few, dtype=torch.bool))
    sizes = []
    state: Any = model.start(memory)
    for step in range(4):
        sizes.append(
            [t.shape for layer in state.layers for t in (layer.peaks, layer.weights, layer.values)]
        )
        _, state = model.decode(random_ids(1, 3, seed=step), memory, state)
    assert all(size == sizes[0] for size in sizes)


def test_directions_are_saved_and_not_learned() -> None:
    model = build(VARIATIONS["transformer, linear attention"])
    names = {name for name in fixed_tensors(model) if "features.directions" in name}
    assert len(names) == 5  # two layers and three
    assert not names & {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"decoder_mixing": "linear_attention", "attention": "additive"}, "additive"),
        ({"random_features": 8}, "random_features: 8 is not read without linear_attention"),
    ],
)
def test_what_does_not_go_together(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TransformerConfig(**choices)
