"""Dropout (Srivastava et al. 2014) with masks that cost little on a CPU.

PyTorch's CPU generator draws one number after another on one core and takes a fifth of a
training step.  Here each element gets 16 random bits from NumPy's SFC64 and is dropped where
they are below ``rate * 65536``; so the rate is exact to 1/131072.  On other devices PyTorch's
own kernel is used.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_LEVELS = 1 << 16

_generator = np.random.SFC64(0)


def seed_dropout(*entropy: int) -> None:
    """Start the CPU masks anew as a pure function of ``entropy``, such as (seed, step, rank).

    The trainer calls this before each step, so that a resumed run needs no generator state.
    """
    global _generator  # noqa: PLW0603 - like PyTorch's own default generator
    _generator = np.random.SFC64(np.random.SeedSequence(entropy))


class Dropout(nn.Module):
    """Zero each element with probability ``rate`` in training and scale the others up."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Any shape to the same shape."""
        if not self.training or self.rate == 0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.rate)
        return x * keep_mask(x.shape, self.rate, x.dtype)

    def extra_repr(self) -> str:
        """The rate, when the model is printed."""
        return f"rate={self.rate}"


def keep_mask(shape: torch.Size, rate: float, dtype: torch.dtype) -> Tensor:
    """Zeros with probability ``rate``, elsewhere ``1 / (1 - rate)``; on the CPU."""
    threshold = min(round(rate * _LEVELS), _LEVELS - 1)  # something may be kept at any rate below 1
    count = shape.numel()
    words = _generator.random_raw(-(-count // 4))
    bits = torch.from_numpy(words.view(np.int16)[:count])  # signed: PyTorch compares these fast
    kept = bits >= threshold - _LEVELS // 2
    return kept.to(dtype).mul_(_LEVELS / (_LEVELS - threshold)).view(shape)
