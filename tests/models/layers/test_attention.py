"""The fused kernel for long inputs against equation 1 as it stands."""

from __future__ import annotations

import pytest
import torch

from dragoman.models.layers import attention
from dragoman.models.layers.attention import KeysValues, attend, causal_bias, mask_bias


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
        torch.testing.assert_close(attend(query, KeysValues(keys, values), bias), expected)
