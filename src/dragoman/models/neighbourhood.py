"""Which positions a position sees in self-attention, and how much distance costs it."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from dragoman.models.attention import KeysValues, Scoring, causal_bias, mask_bias
from dragoman.models.positions import DistancePenalty


class Neighbourhood(Protocol):
    """What the self-attention of all layers has in common: its biases and its past."""

    def restricted(self, scoring: Scoring, causal: bool) -> Scoring:
        """Scores of neighbours alone, made from scores of anything."""

    def encoder_bias(self, mask: Tensor, like: Tensor) -> Tensor:
        """Added to scores of the source.

        Args:
            mask: ``(batch, source)``, True is a real token.
            like: gives the type.
        """

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor | None:
        """Added to scores of ``length`` target positions from ``start`` on; None where all is 0."""

    def kept(self, past: KeysValues) -> KeysValues:
        """The part of a decoder's keys and values that a next position sees."""


class Everywhere:
    """All positions of the encoder, all earlier ones of the decoder: the paper's."""

    def __init__(self, penalty: DistancePenalty | None = None) -> None:
        self.penalty = penalty

    def restricted(self, scoring: Scoring, causal: bool) -> Scoring:
        """See :class:`Neighbourhood`."""
        return scoring

    def encoder_bias(self, mask: Tensor, like: Tensor) -> Tensor:
        """See :class:`Neighbourhood`; ``(batch, 1 or heads, 1 or source, source)``."""
        bias = mask_bias(mask, like.dtype)[:, None, None, :]
        if self.penalty is None:
            return bias
        return bias + self.penalty(mask.shape[1], mask.shape[1], 0, like)

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor | None:
        """See :class:`Neighbourhood`; broadcastable to ``(rows, heads, length, keys)``."""
        causal = causal_bias(start, length, like)
        if self.penalty is None:
            return causal
        penalty = self.penalty(length, start + length, start, like)
        return penalty if causal is None else penalty + causal

    def kept(self, past: KeysValues) -> KeysValues:
        """See :class:`Neighbourhood`."""
        return past
