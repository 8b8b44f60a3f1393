"""The shared convolutions against PyTorch's own, and what they may see."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from dragoman.models.layers.convolution import (
    CausalConvolution,
    CentredConvolution,
    weight_normalised,
)

kernels = st.integers(1, 4)
dilations = st.integers(1, 3)


def like_torch(ours: nn.Module, kernel: int, dilation: int) -> nn.Conv1d:
    theirs = nn.Conv1d(5, 7, kernel, dilation=dilation).double()
    with torch.no_grad():
        nn.init.normal_(ours.get_parameter("bias"))
        theirs.weight.copy_(ours.get_parameter("weight").transpose(1, 2))
        theirs.get_parameter("bias").copy_(ours.get_parameter("bias"))
    return theirs


@given(kernels, dilations, st.lists(st.integers(1, 4), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_causal_is_torch_with_zeros_on_the_left_however_it_is_read(
    kernel: int, dilation: int, pieces: list[int]
) -> None:
    ours = CausalConvolution(5, 7, kernel, dilation).double()
    theirs = like_torch(ours, kernel, dilation)
    x = torch.randn(3, sum(pieces), 5, dtype=torch.float64)
    padded = functional.pad(x.transpose(1, 2), ((kernel - 1) * dilation, 0))
    context, parts = ours.start(3, x), []
    for part in x.split(pieces, dim=1):
        y, context = ours.extend(part, context)
        parts.append(y)
        assert context.shape == (3, (kernel - 1) * dilation, 5)
    torch.testing.assert_close(torch.cat(parts, 1), theirs(padded).transpose(1, 2))


@given(st.sampled_from([1, 3, 5]), dilations, st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_centred_is_torch_with_same_padding(kernel: int, dilation: int, length: int) -> None:
    ours = CentredConvolution(5, 7, kernel, dilation).double()
    theirs = like_torch(ours, kernel, dilation)
    theirs.padding = ((kernel - 1) * dilation // 2,)
    x = torch.randn(3, length, 5, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x.transpose(1, 2)).transpose(1, 2))


def test_weight_normalised_splits_length_and_direction() -> None:
    """``W = g v / ||v||`` by hand: doubling g doubles W, doubling v changes nothing."""
    layer = weight_normalised(nn.Linear(6, 4)).double()
    parts: Any = layer.get_submodule("parametrizations.weight")
    before = layer.weight.detach().clone()
    g, v = parts.original0.detach(), parts.original1.detach()
    expected = g * v / v.pow(2).sum(1, keepdim=True).sqrt()
    torch.testing.assert_close(before, expected)
    with torch.no_grad():
        parts.original1.mul_(2)
        torch.testing.assert_close(layer.weight, before)
        parts.original0.mul_(2)
        torch.testing.assert_close(layer.weight, 2 * before)


@pytest.mark.parametrize("variance", [1.0, 4.0, 3.2])
def test_initial_weights_have_the_published_variance(variance: float) -> None:
    torch.manual_seed(3)
    layer = weight_normalised(CausalConvolution(50, 400, 3), variance)
    assert layer.weight.var().item() == pytest.approx(variance / 150, rel=0.03)
    assert layer.bias.abs().max() == 0


def test_a_gated_layer_keeps_the_variance_of_its_input() -> None:
    """What variance 4 is for (Gehring et al. 2017, section 3.5)."""
    torch.manual_seed(3)
    layer = weight_normalised(CentredConvolution(200, 400, 3), 4.0)
    x = 0.3 * torch.randn(5, 40, 200)  # small, where a gate is about a half
    gated = functional.glu(layer(x)[:, 1:-1], dim=-1)
    assert gated.var().item() == pytest.approx(x.var().item(), rel=0.15)
