"""The fused kernel for long inputs against equation 1 as it stands."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from dragoman.models.layers import attention
from dragoman.models.layers.attention import (
    KeysValues,
    attend,
    causal_bias,
    dot_products,
    mask_bias,
    weighted_sums,
)


def assert_same_function(found: Tensor, expected: Tensor, *inputs: Tensor) -> None:
    """The same values, and the same gradients of the inputs."""
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(
        torch.autograd.grad(found.square().sum(), inputs),
        torch.autograd.grad(expected.square().sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("causal", [False, True])
def test_long_inputs_get_the_same_from_the_fused_kernel(
    causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    length = 53
    generator = torch.Generator().manual_seed(1)
    query, keys, values = (
        torch.randn(2, 3, length, width, dtype=torch.float64, generator=generator)
        for width in (5, 5, 7)
    )
    bias = causal_bias(0, length, query)
    if not causal:
        mask = torch.arange(length) < torch.tensor([[length], [length - 20]])
        bias = mask_bias(mask, torch.float64)[:, None, None, :]
    assert bias is not None
    scores = torch.einsum("bhqd,bhkd->bhqk", query, keys) / 5**0.5 + bias
    expected = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), values)
    for longest in (length + 1, length):  # plain products, then the fused kernel
        monkeypatch.setattr(attention, "_LONG", longest)
        monkeypatch.setattr(attention, "_MANY", 1)
        torch.testing.assert_close(attend(query, KeysValues(keys, values), bias), expected)


def test_one_query_of_many_keys_takes_plain_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of decoding; all positions of as long a text take the fused kernel."""
    taken: list[int] = []
    fused = functional.scaled_dot_product_attention

    def counted(query: Tensor, *rest: Any, **more: Any) -> Tensor:
        taken.append(query.shape[2])
        return fused(query, *rest, **more)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", counted)
    memory = KeysValues(torch.randn(1, 1, 1024, 2), torch.randn(1, 1, 1024, 2))
    for queries in (1, 255, 256):
        attend(torch.randn(1, 1, queries, 2), memory, None)
    assert taken == [256]


@pytest.mark.parametrize("scale", [None, 1.0, 0.3])
@pytest.mark.parametrize("shape", [None, (2, 1, 1, 7), (5, 7), (2, 3, 5, 7)])
def test_products_with_any_bias(shape: tuple[int, ...] | None, scale: float | None) -> None:
    """Against the formula, pair by pair; heads are views, as projections leave them."""
    generator = torch.Generator().manual_seed(1)
    query, keys = (
        torch.randn(2, length, 3, 4, dtype=torch.float64, generator=generator).transpose(1, 2)
        for length in (5, 7)
    )
    query.requires_grad_()
    keys.requires_grad_()
    bias = None if shape is None else torch.randn(shape, dtype=torch.float64)
    before = None if bias is None else bias.clone()
    found = dot_products(query, keys, bias, scale)
    expected = torch.einsum("bhqd,bhkd->bhqk", query, keys) * (scale or 4**-0.5)
    expected = expected if bias is None else expected + bias
    assert_same_function(found, expected, query, keys)
    if bias is not None and before is not None:
        assert bias.equal(before)  # it serves all layers


@pytest.mark.parametrize("keys", [1, 3, 66, 67])  # 67 keys of 6 numbers: a product again
@pytest.mark.parametrize("queries", [1, 2])
def test_sums_of_few_values(queries: int, keys: int) -> None:
    """Against the formula; values are views, as projections leave them, or parts of a window."""
    generator = torch.Generator().manual_seed(1)
    weights = torch.rand(2, 3, queries, keys, generator=generator).requires_grad_()
    values = torch.randn(2, keys + 1, 3, 6, generator=generator).transpose(1, 2)[:, :, 1:]
    values.requires_grad_()
    found = weighted_sums(weights, values)
    expected = torch.einsum("bhqk,bhkd->bhqd", weights, values)
    assert_same_function(found, expected, weights, values)
