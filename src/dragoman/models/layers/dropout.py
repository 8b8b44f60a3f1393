"""Dropout (Srivastava et al. 2014) with masks that are cheap on a CPU.

PyTorch's CPU generator draws numbers one by one on one core, which takes a fifth of a training
step.  Here each element gets 16 random bits from NumPy's SFC64 and is dropped if they are below
``rate * 65536``, so the rate is exact to 1/131072.  Other devices use PyTorch's own kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_LEVELS = 1 << 16

DropoutState = Any
"""State of NumPy's generator, which has no public type."""

_generator = np.random.SFC64(0)

_MASK = "dragoman::dropout_mask"
"""The operator by which compiled code draws a mask: a compiler cannot look into NumPy."""


def seed_dropout(*entropy: int) -> None:
    """Reseed the CPU masks with ``entropy`` alone, such as (seed, step, rank).

    The trainer calls this before each step, so a resumed run needs no generator state.
    """
    global _generator  # noqa: PLW0603 - like PyTorch's own default generator
    _generator = np.random.SFC64(np.random.SeedSequence(entropy))


@contextmanager
def dropout_from(state: DropoutState) -> Iterator[None]:
    """Draw the CPU masks of the block from a given state, then restore the previous state."""
    kept = dropout_state()
    _generator.state = state
    try:
        yield
    finally:
        _generator.state = kept


def dropout_state() -> DropoutState:
    """Present state of the generator of CPU masks."""
    return _generator.state


class Dropout(nn.Module):
    """Zero each element with probability ``rate`` in training and scale the others up."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor, onto: Tensor | None = None) -> Tensor:
        """Any shape to the same shape, added to ``onto``, of that shape, if given.

        On a CPU the product and the sum are one pass over memory.
        """
        if not self.training or self.rate == 0:
            return x if onto is None else onto + x
        if x.device.type != "cpu":
            dropped = functional.dropout(x, self.rate)
            return dropped if onto is None else onto + dropped
        mask = _mask(x, self.rate)
        return x * mask if onto is None else torch.addcmul(onto, x, mask)

    def extra_repr(self) -> str:
        """The rate, for printing the model."""
        return f"rate={self.rate}"


def keep_mask(shape: torch.Size, rate: float, dtype: torch.dtype) -> Tensor:
    """Zeros with probability ``rate``, elsewhere ``1 / (1 - rate)``; on the CPU."""
    threshold = min(round(rate * _LEVELS), _LEVELS - 1)  # any rate below 1 keeps something
    count = shape.numel()
    words = _generator.random_raw(-(-count // 4))
    bits = torch.from_numpy(words.view(np.int16)[:count])  # signed: PyTorch compares these fast
    kept = bits.ge_(threshold - _LEVELS // 2)  # 0 and 1, still in 16 bits
    factor = torch.tensor(_LEVELS / (_LEVELS - threshold), dtype=dtype)
    if dtype.itemsize == 2:  # 1 times the bits of the factor is the factor: nothing to convert
        return kept.mul_(factor.view(torch.int16)).view(dtype).view(shape)
    return kept.to(dtype).mul_(factor).view(shape)


def _mask(like: Tensor, rate: float) -> Tensor:
    if torch.compiler.is_compiling():
        return cast(Tensor, torch.ops.dragoman.dropout_mask(like.detach(), rate))
    return keep_mask(like.shape, rate, like.dtype)


def _drawn_mask(like: Tensor, rate: float) -> Tensor:
    return keep_mask(like.shape, rate, like.dtype)


def _mask_shape(like: Tensor, rate: float) -> Tensor:
    return like.new_empty(like.shape)


# Compilers neither merge nor repeat nor reorder calls with this tag, so masks are drawn as without.
torch.library.define(
    _MASK, "(Tensor like, float rate) -> Tensor", tags=torch.Tag.nondeterministic_seeded
)
torch.library.impl(_MASK, "cpu", _drawn_mask)
torch.library.register_fake(_MASK, _mask_shape)
