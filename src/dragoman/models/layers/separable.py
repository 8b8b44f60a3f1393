"""Depthwise separable convolution in place of self-attention.

Chollet 2017, "Xception"; Kaiser et al. 2018, "Depthwise Separable Convolutions for Neural Machine
Translation" (arXiv:1706.03059); Vaswani et al. 2017, section 4, compare its cost.
"""

from __future__ import annotations

from torch import Tensor, nn

from dragoman.models.layers.convolution import CausalDepthwise, CentredDepthwise
from dragoman.models.layers.mixing import DecoderMixing, EncoderMixing


def _pointwise(d_model: int) -> nn.Linear:
    """``W_p``, the only layer that mixes channels."""
    linear = nn.Linear(d_model, d_model, bias=False)
    nn.init.xavier_uniform_(linear.weight)
    return linear


class EncoderSeparable(EncoderMixing):
    """``W_p DepthwiseConv(x)``, centred at each position; ``kernel_width`` is odd."""

    def __init__(self, d_model: int, kernel_width: int) -> None:
        super().__init__()
        self.depthwise = CentredDepthwise(d_model, kernel_width)
        self.pointwise = _pointwise(d_model)

    def mix(self, x: Tensor, shared: Tensor) -> Tensor:
        """``shared`` is the mask."""
        return self.pointwise(self.depthwise(x * shared.unsqueeze(2)))


class DecoderSeparable(DecoderMixing):
    """``W_p DepthwiseConv(x)`` up to each position; the last k - 1 positions are kept."""

    def __init__(self, d_model: int, kernel_width: int) -> None:
        super().__init__()
        self.depthwise = CausalDepthwise(d_model, kernel_width)
        self.pointwise = _pointwise(d_model)

    def past(self, rows: int, like: Tensor) -> Tensor:
        """Zeros ``(rows, k - 1, d_model)``."""
        return self.depthwise.start(rows, like)

    def read(
        self, x: Tensor, past: Tensor, start: int, shared: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """``past`` is the left context."""
        convolved, context = self.depthwise.extend(x, past)
        return self.pointwise(convolved), context
