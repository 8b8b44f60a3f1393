"""Linear layers whose products have few different sizes, which saves oneDNN's code generation.

Before it multiplies matrices of bfloat16, oneDNN writes machine code for their sizes and keeps it
for later products of these sizes.  On a processor with AMX that takes 1 to 15 ms, while the product
itself takes 0.1 to 2, and nearly every batch of translation has another size.  Here rows of
zeros are added until their number is one of few.  They add nothing to any sum, and small models
train 1.2 times as fast (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional

from dragoman.core.device import computes_bfloat16

_LEAST_STEP = 16
"""Rows of an AMX tile, of which products are made."""
_STEPS_IN_DOUBLING = 16
"""Different numbers of rows between one power of two and the next: from 256 rows on, at most a
sixteenth is added, and half of that on average."""


def steady_rows(rows: int) -> int:
    """The number of rows to compute with instead of ``rows``: one of few, at least as large."""
    power = 1 << max(rows - 1, 0).bit_length()  # the next power of two
    step = max(_LEAST_STEP, power // (2 * _STEPS_IN_DOUBLING))
    return -(-rows // step) * step


def gains_from_steady_products(device: torch.device, precision: torch.dtype) -> bool:
    """Whether training there is faster with :func:`make_products_steady`: with AMX only.

    On AVX-512 without it, code generation took 5 % of a step; the gain there is not measured.
    """
    if device.type != "cpu" or precision != torch.bfloat16 or not computes_bfloat16(device):
        return False
    return bool(torch.cpu._is_amx_tile_supported())


def make_products_steady(model: nn.Module) -> None:
    """Make the linear layers of a model in training compute with few different numbers of rows.

    The layers change their class, which keeps additions to them, such as the hook and the factors
    of a low-rank adapter.
    """
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = SteadyLinear


class SteadyLinear(nn.Linear):
    """A linear layer that computes with few different numbers of rows."""

    def forward(self, x: Tensor) -> Tensor:
        """``(..., in_features)`` to ``(..., out_features)``."""
        if not torch.is_grad_enabled():  # a search step has few rows: code is faster to make
            return functional.linear(x, self.weight, self.bias)
        apply: Callable[..., Tensor] = _SteadyProduct.apply
        product = apply(x.reshape(-1, x.shape[-1]), self.weight, self.bias)
        # Cut here and not within: views that a custom function returns cannot be changed in place.
        return _first(product, x.shape[:-1].numel()).view(*x.shape[:-1], self.out_features)


class _SteadyProduct(torch.autograd.Function):
    """``x W^T + b`` and its gradients ``g W``, ``g^T x`` and ``sum g``, in a steady number of rows.

    The caller cuts off the added rows, so that no gradient comes from them.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)  # without zeros, as other layers also keep x
        return functional.linear(_with_zeros(rows), weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        of_input, of_weight, of_bias = ctx.needs_input_grad  # type: ignore[attr-defined]
        return (
            _first(gradient @ weight, len(rows)) if of_input else None,
            gradient.t() @ _with_zeros(rows) if of_weight else None,
            _first(gradient, len(rows)).sum(0) if of_bias else None,
        )


def _first(rows: Tensor, count: int) -> Tensor:
    """The first ``count`` rows, without an operation if these are all rows."""
    return rows if len(rows) == count else rows[:count]


def _with_zeros(rows: Tensor) -> Tensor:
    """``(rows, width)`` to ``(steady_rows(rows), width)``."""
    missing = steady_rows(len(rows)) - len(rows)
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows
