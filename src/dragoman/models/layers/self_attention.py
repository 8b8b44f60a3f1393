"""Attention of a sentence to itself, as encoder and decoder use it (Vaswani et al. 2017, 3.2.3)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dragoman.models.layers.attention import KeysValues, MultiHeadAttention
from dragoman.models.layers.mixing import DecoderMixing, EncoderMixing
from dragoman.models.layers.neighbourhood import Neighbourhood


class _SelfAttention(MultiHeadAttention):
    """What encoder and decoder have in common.

    Args:
        sizes: d_model, heads, d_k, d_v and dropout of :class:`MultiHeadAttention`.
        neighbourhood: which positions are seen, and what distance costs.
        options: of :class:`MultiHeadAttention`.
    """

    def __init__(self, *sizes: Any, neighbourhood: Neighbourhood, **options: Any) -> None:
        super().__init__(*sizes, **options)
        self.neighbourhood = neighbourhood


class EncoderSelfAttention(_SelfAttention, EncoderMixing):
    """Every position sees those of its neighbourhood."""

    def shared(self, mask: Tensor, like: Tensor) -> Tensor:
        """The bias of scores."""
        return self.neighbourhood.encoder_bias(mask, like)

    def mix(self, x: Tensor, shared: Tensor) -> Tensor:
        """See :meth:`EncoderMixing.mix`; ``shared`` is the bias."""
        return self(x, self.keys_values(x), shared)


class DecoderSelfAttention(_SelfAttention, DecoderMixing):
    """Every position sees itself and those before it in its neighbourhood.

    Keys and values of the positions that a next one sees are kept.
    """

    def shared(self, rows: int, start: int, length: int, like: Tensor) -> Tensor | None:
        """The bias of scores."""
        return self.neighbourhood.decoder_bias(rows, start, length, like)

    def past(self, rows: int, like: Tensor) -> KeysValues:
        """Keys and values of no positions."""
        return KeysValues(
            like.new_empty(rows, self.heads, 0, self.d_k),
            like.new_empty(rows, self.heads, 0, self.d_v),
        )

    def read(
        self, x: Tensor, past: KeysValues, start: int, shared: Tensor | None
    ) -> tuple[Tensor, KeysValues]:
        """See :meth:`DecoderMixing.read`; ``shared`` is the bias."""
        now = past.extended(self.keys_values(x, start))
        return self(x, now, shared, start), self.neighbourhood.kept(now)
