"""Softmax over few keys, for which PyTorch's own kernel is slow on a CPU.

PyTorch's kernel works on whole vector registers, 32 numbers of bfloat16 or 16 of float32 with
AVX-512.  A shorter row is processed number by number, at 8 and 17 nanoseconds each, forward,
whereas a full register takes about one.  Attention over a sentence of 15 pieces has only such rows.
This file processes all rows together: exponentials of all numbers, and the sums of all rows as a
product with a matrix of ones, which leaves each sum where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

_REGISTER_BYTES = {"AVX512": 64, "AVX2": 32}
_FEW = 1 << 12
"""Below this many scores, calling several kernels takes longer than PyTorch's single one."""
_LARGEST_SCORE = 80.0
"""Exponentials up to this score, and sums of some dozens of them, are finite."""
_SMALLEST_SUM = exp(-40)
"""A row with a larger sum loses nothing above e^-40 of it, because the smallest number is e^-87."""


def softmax(scores: Tensor) -> Tensor:
    """``exp(s_j) / sum_k exp(s_k)`` over the last axis; not for float16, with its small range.

    In short rows the largest score of the row is not subtracted first, unless a score is so large
    or a row so low that it matters.
    """
    if not _has_short_rows(scores):
        return scores.softmax(-1)
    apply: Callable[[Tensor], Tensor] = _ShortSoftmax.apply
    return apply(scores)


def _has_short_rows(scores: Tensor) -> bool:
    """Whether rows on a CPU are shorter than a vector register, and not few.

    Compiled code has PyTorch's softmax, because the other depends on the values of scores.
    """
    if torch.compiler.is_compiling() or scores.device.type != "cpu" or scores.numel() < _FEW:
        return False
    capability = torch.backends.cpu.get_cpu_capability()
    return scores.shape[-1] * scores.element_size() < _REGISTER_BYTES.get(capability, 16)


class _ShortSoftmax(torch.autograd.Function):
    """Softmax of short rows; the gradient of score j is ``p_j (g_j - sum_k p_k g_k)``."""

    @staticmethod
    def forward(ctx: FunctionCtx, scores: Tensor) -> Tensor:
        weights = scores.exp()
        sums = _row_sums(weights)
        # NaN is neither below nor above anything
        if scores.amax() < _LARGEST_SCORE and sums.amin() > _SMALLEST_SUM:
            weights.div_(sums)
        else:
            weights = scores.softmax(-1)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors  # type: ignore[attr-defined]
        products = weights * gradient
        return products.addcmul_(weights, _row_sums(products), value=-1)


def _row_sums(x: Tensor) -> Tensor:
    """The sum of its row in place of each number: ``(..., keys)`` to the same shape."""
    keys = x.shape[-1]
    return (x.reshape(-1, keys) @ x.new_ones(keys, keys)).view(x.shape)
