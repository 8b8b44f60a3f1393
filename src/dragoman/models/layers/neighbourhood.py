"""Which positions a position sees in self-attention, and how distance lowers its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.models.layers.attention import KeysValues, causal_bias, mask_bias
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import DistancePenalty
from dragoman.models.layers.scoring import Scoring


class Neighbourhood(Protocol):
    """What the self-attention of all layers has in common: its biases and its past."""

    def restricted(self, scoring: Scoring, causal: bool) -> Scoring:
        """A scoring restricted to neighbours, made from an unrestricted one."""

    def encoder_bias(self, mask: Tensor, like: Tensor) -> Tensor:
        """The bias added to scores of the source.

        Args:
            mask: ``(batch, source)``, True is a real token.
            like: gives the type.
        """

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor | None:
        """The bias of ``length`` target positions from ``start`` on; None if it is all 0."""

    def kept(self, past: KeysValues) -> KeysValues:
        """The part of a decoder's keys and values that later positions can see."""


class Everywhere:
    """All positions in the encoder, all earlier ones in the decoder, as in the paper."""

    def __init__(self, penalty: DistancePenalty | None = None) -> None:
        self.penalty = penalty

    def restricted(self, scoring: Scoring, causal: bool) -> Scoring:
        """See :class:`Neighbourhood`."""
        return scoring

    def encoder_bias(self, mask: Tensor, like: Tensor) -> Tensor:
        """See :class:`Neighbourhood`; ``(batch, 1 or heads, 1 or source, source)``."""
        bias = mask_bias(mask, like.dtype)[:, None, None, :]  # (batch, 1, 1, source)
        if self.penalty is None:
            return bias
        return bias + self.penalty(mask.shape[1], mask.shape[1], 0, like)

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor | None:
        """See :class:`Neighbourhood`; broadcastable to ``(rows, heads, length, keys)``."""
        causal = causal_bias(start, length, like)  # (length, start + length)
        if self.penalty is None:
            return causal
        penalty = self.penalty(length, start + length, start, like)
        return penalty if causal is None else penalty + causal

    def kept(self, past: KeysValues) -> KeysValues:
        """See :class:`Neighbourhood`."""
        return past


class Window:
    """A window of ``size`` positions (restricted self-attention, Vaswani et al. 2017, section 4).

    It is centred at the position in the encoder and ends with it in the decoder.  Time and memory
    are proportional to ``size * length``; a decoder keeps ``size - 1`` positions.

    Args:
        size: an odd number of positions, at least 3.
        penalty: of distance, if any.
    """

    def __init__(self, size: int, penalty: DistancePenalty | None = None) -> None:
        self.centred = _Band(size // 2, size // 2)
        self.causal = _Band(size - 1, 0)
        self.penalty = penalty

    def restricted(self, scoring: Scoring, causal: bool) -> Scoring:
        """See :class:`Neighbourhood`."""
        return BandedScoring(scoring, self.causal if causal else self.centred)

    def encoder_bias(self, mask: Tensor, like: Tensor) -> Tensor:
        """See :class:`Neighbourhood`; one bias per block of each sentence."""
        return self.centred.bias(mask, mask.shape[1], self.penalty, like)

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor:
        """See :class:`Neighbourhood`; one bias per block of each row."""
        keys = min(start, self.causal.before) + length
        real = torch.ones(rows, keys, dtype=torch.bool, device=like.device)
        return self.causal.bias(real, length, self.penalty, like)

    def kept(self, past: KeysValues) -> KeysValues:
        """See :class:`Neighbourhood`."""
        first = max(0, past.keys.shape[2] - self.causal.before)
        return KeysValues(past.keys[:, :, first:], past.values[:, :, first:])


@dataclass(frozen=True)
class _Band:
    """Keys from ``before`` positions to the left of a query to ``after`` positions to its right.

    Queries are cut into blocks of ``before + after`` positions; a block's queries together see the
    keys of the block and of ``before`` and ``after`` positions on either side, which is at most
    twice what each of them sees.
    """

    before: int
    after: int

    def block(self, queries: int) -> int:
        """Number of queries in a block."""
        return min(queries, self.before + self.after)

    def query_blocks(self, x: Tensor) -> Tensor:
        """``(rows, heads, queries, d_k)`` to ``(rows * blocks, heads, block, d_k)``."""
        block = self.block(x.shape[2])
        padded = functional.pad(x, (0, 0, 0, -x.shape[2] % block))
        # by way of (rows, heads, blocks, block, d_k)
        return padded.unflatten(2, (-1, block)).transpose(1, 2).flatten(0, 1)

    def key_blocks(self, x: Tensor, queries: int) -> Tensor:
        """``(rows, heads, keys, d)`` to ``(rows * blocks, heads, before + block + after, d)``.

        The last query is at the position of the last key.
        """
        block = self.block(queries)
        missing = self.before - (x.shape[2] - queries)
        padded = functional.pad(x, (0, 0, missing, -queries % block + self.after))
        # (rows, heads, blocks, d, before + block + after)
        blocks = padded.unfold(2, self.before + block + self.after, block)
        return blocks.permute(0, 2, 1, 4, 3).flatten(0, 1)

    def bias(
        self, real: Tensor, queries: int, penalty: DistancePenalty | None, like: Tensor
    ) -> Tensor:
        """``(rows * blocks, 1 or heads, block, before + block + after)``.

        Args:
            real: keys that may be seen, ``(rows, keys)``.
            queries: number of queries, the last of them at the last key.
            penalty: of distance.
            like: gives the type.
        """
        # (rows * blocks, 1, 1, before + block + after)
        keys = self.key_blocks(real[:, None, :, None], queries).transpose(2, 3)
        i = torch.arange(self.block(queries), device=real.device).unsqueeze(1)
        # (block, before + block + after)
        distance = torch.arange(keys.shape[3], device=real.device) - (i + self.before)
        near = (distance >= -self.before) & (distance <= self.after)
        # Padding would otherwise see nothing, and its softmax would be NaN.
        bias = mask_bias(near & keys | (distance == 0), like.dtype)
        if penalty is None:
            return bias
        return bias + penalty(len(distance), keys.shape[3], self.before, like)


class BandedScoring(Scoring):
    """Any scoring, block by block, so that no query is compared with a distant key."""

    def __init__(self, scoring: Scoring, band: _Band) -> None:
        super().__init__()
        self.scoring, self.band = scoring, band

    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        """Weights ``(rows * blocks, heads, block, before + block + after)``."""
        key_blocks = self.band.key_blocks(keys, query.shape[2])
        return self.scoring.weights(
            self.band.query_blocks(query), key_blocks, bias, self.band.before
        )

    def forward(
        self, query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout, first: int
    ) -> Tensor:
        """See :meth:`Scoring.forward`; ``bias`` has the same blocks."""
        rows, _, queries, _ = query.shape
        blocks = KeysValues(
            self.band.key_blocks(memory.keys, queries), self.band.key_blocks(memory.values, queries)
        )
        context = self.scoring(  # (rows * blocks, heads, block, d_v)
            self.band.query_blocks(query), blocks, bias, dropout, self.band.before
        )
        # (rows, heads, blocks * block, d_v)
        joined = context.unflatten(0, (rows, -1)).transpose(1, 2).flatten(2, 3)
        return joined[:, :, :queries]
