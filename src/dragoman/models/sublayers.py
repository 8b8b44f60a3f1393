"""Sublayers of the Transformer and how they are joined (Vaswani et al. 2017, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from dragoman.models.dropout import Dropout

Norm = Literal["post", "pre"]


class FeedForward(nn.Module):
    """``max(0, x W_1 + b_1) W_2 + b_2``, equation 2."""

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(dropout)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(..., d_model)`` to the same shape."""
        return self.outer(self.dropout(self.inner(x).relu()))


class Residual(nn.Module):
    """Residual connection and layer normalisation around a sublayer.

    ``post``: ``LayerNorm(x + Dropout(Sublayer(x)))``, as published (section 5.4).
    ``pre``: ``x + Dropout(Sublayer(LayerNorm(x)))`` (Wang et al. 2019); the stack then needs
    a normalisation at its end.
    """

    def __init__(self, d_model: int, dropout: float, norm: Norm) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.pre = norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """``(rows, length, d_model)`` to the same shape."""
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def final_norm(d_model: int, norm: Norm) -> nn.Module:
    """What closes a stack of layers: a normalisation where ``pre`` has left it open."""
    return nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()
