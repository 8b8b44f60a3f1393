"""Ways to score queries and keys against their papers' sums, pair by pair in float64 NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.func import functional_call
from torch.nn import functional

from dragoman.models.layers import attention
from dragoman.models.layers.attention import KeysValues, causal_bias, mask_bias
from dragoman.models.layers.dropout import Dropout, keep_mask, seed_dropout
from dragoman.models.layers.scoring import Additive, DotProduct, RelativePositions, Scoring

HEADS, D_K, D_V = 3, 5, 7
Array = np.ndarray
Score = Callable[[Array, Array, int, int], float]


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def inputs(queries: int, keys: int) -> tuple[torch.Tensor, KeysValues]:
    memory = KeysValues(random(2, HEADS, keys, D_K, seed=2), random(2, HEADS, keys, D_V, seed=3))
    return random(2, HEADS, queries, D_K), memory


def by_hand(
    query: torch.Tensor,
    memory: KeysValues,
    bias: Array,
    score: Score,
    value: Callable[[Array, int], Array] = lambda v, distance: v,
) -> Array:
    """``sum_j softmax_j(score(q_i, k_j) + bias_ij) value_j``, the last query at the last key."""
    q, k, v = query.numpy(), memory.keys.numpy(), memory.values.numpy()
    first = k.shape[2] - q.shape[2]
    context = np.zeros((*q.shape[:3], v.shape[-1]))
    for row, head, i in np.ndindex(q.shape[:3]):
        scores = [
            score(q[row, head, i], k[row, head, j], head, j - i - first) for j in range(k.shape[2])
        ]
        weights = np.exp(np.array(scores) + bias[row, i])
        weights /= weights.sum()
        for j, weight in enumerate(weights):
            context[row, head, i] += weight * value(v[row, head, j], j - i - first)
    return context


def found(scoring: Scoring, query: torch.Tensor, memory: KeysValues, bias: torch.Tensor) -> Array:
    first = memory.keys.shape[2] - query.shape[2]
    context = scoring.double().eval()(query, memory, bias, Dropout(0.0), first)
    return context.detach().numpy()


def padding() -> torch.Tensor:
    return mask_bias(torch.tensor([[True] * 6, [True] * 4 + [False] * 2]), torch.float64)


@pytest.mark.parametrize(("scale", "factor"), [(None, 1 / math.sqrt(D_K)), (1.0, 1.0)])
def test_dot_products(scale: float | None, factor: float) -> None:
    query, memory = inputs(4, 6)
    bias = padding()
    expected = by_hand(
        query,
        memory,
        bias[:, None].expand(2, 4, 6).numpy(),
        lambda q, k, head, distance: factor * float(q @ k),
    )
    result = found(DotProduct(scale), query, memory, bias[:, None, None])
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)


def test_dot_products_of_long_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's fused kernel, taken for many keys, is not scaled either."""
    query, memory = inputs(2, 30)
    bias = torch.zeros(2, 1, 1, 30, dtype=torch.float64)
    monkeypatch.setattr(attention, "_LONG", 30)
    monkeypatch.setattr(attention, "_MANY", 1)
    short = DotProduct(1.0).weights(query, memory.keys, bias, 0) @ memory.values
    np.testing.assert_allclose(found(DotProduct(1.0), query, memory, bias), short, rtol=1e-9)
    scaled = functional.scaled_dot_product_attention(query, memory.keys, memory.values)
    assert not np.allclose(short, scaled)


def test_additive() -> None:
    torch.manual_seed(0)
    scoring = Additive(HEADS, D_K).double()
    vector = scoring.vector.detach().numpy()
    query, memory = inputs(4, 6)
    bias = padding()
    expected = by_hand(
        query,
        memory,
        bias[:, None].expand(2, 4, 6).numpy(),
        lambda q, k, head, distance: float(vector[head] @ np.tanh(q + k)),
    )
    result = found(scoring, query, memory, bias[:, None, None])
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize(
    ("before", "after", "queries"), [(2, 2, 7), (3, 0, 7), (3, 0, 1), (2, 0, 4)]
)
def test_relative_positions(before: int, after: int, queries: int, scale: float | None) -> None:
    """In the encoder (distances to both sides) and the decoder, at once and step by step."""
    torch.manual_seed(0)
    scoring = RelativePositions(D_K, D_V, before, after, scale).double()
    keys, values = scoring.keys.detach().numpy(), scoring.values.detach().numpy()
    query, memory = inputs(queries, 7)
    causal = causal_bias(7 - queries, queries, query) if after == 0 else None
    bias = torch.zeros(queries, 7, dtype=torch.float64) if causal is None else causal

    def place(distance: int) -> int:
        return max(-before, min(after, distance)) + before

    factor = scale or 1 / math.sqrt(D_K)
    expected = by_hand(
        query,
        memory,
        bias.expand(2, queries, 7).numpy(),
        lambda q, k, head, distance: factor * float(q @ (k + keys[place(distance)])),
        lambda v, distance: v + values[place(distance)],
    )
    np.testing.assert_allclose(
        found(scoring, query, memory, bias), expected, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [(DotProduct, ()), (Additive, (HEADS, D_K)), (RelativePositions, (D_K, D_V, 2, 1))],
)
def test_dropout_falls_on_the_weights(
    kind: type[Scoring], sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the softmax, so that those that are kept stay as they are but for the scale.

    Long inputs too: the fused kernel, which has no mask of ours, is not for them.
    """
    monkeypatch.setattr(attention, "_LONG", 1)
    monkeypatch.setattr(attention, "_MANY", 1)
    torch.manual_seed(0)
    scoring = kind(*sizes).double()
    query, memory = inputs(4, 6)
    seed_dropout(7)
    result = scoring(query, memory, None, Dropout(0.4), 2)
    seed_dropout(7)
    kept = keep_mask(torch.Size([2, HEADS, 4, 6]), 0.4, torch.float64)
    weights = kept * scoring.weights(query, memory.keys, None, 2)
    expected = weights @ memory.values
    if isinstance(scoring, RelativePositions):
        for i, j in np.ndindex(4, 6):
            distance = max(-2, min(1, j - i - 2))
            expected[:, :, i] += weights[:, :, i, j, None] * scoring.values[distance + 2]
    torch.testing.assert_close(result, expected)


def test_gradient_of_relative_positions_is_the_numerical_one() -> None:
    scoring = RelativePositions(D_K, D_V, 1, 1).double()
    query, memory = inputs(3, 3)

    def context(keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        weights = {"keys": keys, "values": values}
        return functional_call(scoring, weights, (query, memory, None, Dropout(0.0), 0))

    tables = [scoring.keys.detach().clone(), scoring.values.detach().clone()]
    assert torch.autograd.gradcheck(context, [t.requires_grad_() for t in tables])
