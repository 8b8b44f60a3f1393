"""Positions that a position sees in self-attention, and the bias of their distance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from dragoman.models.layers.attention import KeysValues, causal_bias, mask_bias
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.mixing import Shared
from dragoman.models.layers.positions import DistanceBias
from dragoman.models.layers.scoring import Attending, Scoring


class Neighbourhood(ABC):
    """The parts of self-attention that all layers share: its biases and its past."""

    @abstractmethod
    def restricted(self, scoring: Scoring, causal: bool) -> Attending:
        """Attention restricted to neighbours, made from an unrestricted scoring."""

    @abstractmethod
    def encoder_bias(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Shared:
        """The bias added to scores of the source.

        Args:
            mask: ``(batch, source)``, True is a real token.
            like: gives the type.
            marked: ``(batch, source)``, True is a token that sees, and is seen by, all others.
        """

    @abstractmethod
    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Shared | None:
        """The bias of ``length`` target positions from ``start`` on; None if it is all 0."""

    def kept(self, past: KeysValues) -> KeysValues:
        """The keys and values that a decoder's later positions can see; all unless overridden."""
        return past


class Everywhere(Neighbourhood):
    """All positions in the encoder, all earlier ones in the decoder, as in the paper."""

    def __init__(self, penalty: DistanceBias | None = None) -> None:
        self.penalty = penalty

    @override
    def restricted(self, scoring: Scoring, causal: bool) -> Attending:
        return scoring

    def encoder_bias(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Tensor:
        """``(batch, 1 or heads, 1 or source, source)``."""
        bias = mask_bias(mask, like.dtype)[:, None, None, :]  # (batch, 1, 1, source)
        if self.penalty is None:
            return bias
        return bias + self.penalty(mask.shape[1], mask.shape[1], 0, like)

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor | None:
        """Broadcastable to ``(rows, heads, length, keys)``."""
        causal = causal_bias(start, length, like)  # (length, start + length)
        if self.penalty is None:
            return causal
        penalty = self.penalty(length, start + length, start, like)
        return penalty if causal is None else penalty + causal


class Window(Neighbourhood):
    """A window of ``size`` positions (restricted self-attention, Vaswani et al. 2017, section 4).

    It is centred at the position in the encoder and ends with it in the decoder.  Time and memory
    are proportional to ``size * length``; a decoder keeps ``size - 1`` positions.

    Args:
        size: an odd number of positions, at least 3.
        penalty: of distance, if any.
    """

    def __init__(self, size: int, penalty: DistanceBias | None = None) -> None:
        self.centred = Band(size // 2, size // 2)
        self.causal = Band(size - 1, 0)
        self.penalty = penalty

    @override
    def restricted(self, scoring: Scoring, causal: bool) -> Attending:
        return BlockedScoring(scoring, self.causal if causal else self.centred)

    def encoder_bias(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Shared:
        """One bias per block of each sentence."""
        return self.centred.bias(mask, mask.shape[1], like, self.penalty)

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor:
        """One bias per block of each row."""
        keys = min(start, self.causal.before) + length
        real = torch.ones(rows, keys, dtype=torch.bool, device=like.device)
        return self.causal.bias(real, length, like, self.penalty)

    @override
    def kept(self, past: KeysValues) -> KeysValues:
        first = max(0, past.keys.shape[2] - self.causal.before)
        return KeysValues(past.keys[:, :, first:], past.values[:, :, first:])


class Blocks(ABC):
    """Cuts attention into blocks: each query meets only the keys of its block, by matrix products.

    ``queries`` and ``keys`` are their numbers; the last query is at the position of the last key.
    """

    def first(self, queries: int, keys: int) -> int:
        """Index, in a block, of the key at its first query's position, for scores by distance."""
        return 0

    @abstractmethod
    def query_blocks(self, x: Tensor, keys: int) -> Tensor:
        """``(rows, heads, queries, d)`` to ``(rows * blocks, heads, queries of a block, d)``."""

    @abstractmethod
    def key_blocks(self, x: Tensor, queries: int) -> Tensor:
        """``(rows, heads, keys, d)`` to ``(rows * blocks, heads, keys of a block, d)``."""

    @abstractmethod
    def joined(self, context: Tensor, rows: int, queries: int, keys: int) -> Tensor:
        """``(rows * blocks, heads, queries of a block, d)`` to ``(rows, heads, queries, d)``."""

    @abstractmethod
    def bias(self, real: Tensor, queries: int, like: Tensor) -> Tensor:
        """The bias of all blocks, ``(rows * blocks, 1, queries or 1, keys of a block)``.

        ``real`` are the keys that may be seen, ``(rows, keys)``.
        """


@dataclass(frozen=True)
class Band(Blocks):
    """Keys from ``before`` positions to the left of a query to ``after`` positions to its right.

    Queries are cut into blocks of ``before + after`` positions.  A block's queries together see the
    keys of the block and of ``before`` and ``after`` positions on either side, at most twice what
    each query sees.  A single block sees only existing keys, so that a window wider than the
    sentence costs no more than full attention.
    """

    before: int
    after: int

    def first(self, queries: int, keys: int) -> int:
        """The number of keys to the left of a block, which precede its first query."""
        return self._sides(queries, keys)[0]

    def block(self, queries: int) -> int:
        """Number of queries in a block."""
        return min(queries, self.before + self.after)

    def _sides(self, queries: int, keys: int) -> tuple[int, int]:
        """Number of keys that a block sees to the left of its queries, and to their right."""
        if self.block(queries) == queries:
            return min(self.before, keys - queries), 0
        return self.before, self.after

    @override
    def query_blocks(self, x: Tensor, keys: int) -> Tensor:
        block = self.block(x.shape[2])
        padded = functional.pad(x, (0, 0, 0, -x.shape[2] % block))
        # by way of (rows, heads, blocks, block, d_k)
        return padded.unflatten(2, (-1, block)).transpose(1, 2).flatten(0, 1)

    def key_blocks(self, x: Tensor, queries: int) -> Tensor:
        """Those of each block and on either side of it."""
        block = self.block(queries)
        left, right = self._sides(queries, x.shape[2])
        missing = left - (x.shape[2] - queries)
        padded = functional.pad(x, (0, 0, missing, -queries % block + right))
        # (rows, heads, blocks, d, left + block + right)
        blocks = padded.unfold(2, left + block + right, block)
        return blocks.permute(0, 2, 1, 4, 3).flatten(0, 1)

    @override
    def joined(self, context: Tensor, rows: int, queries: int, keys: int) -> Tensor:
        # (rows, heads, blocks * block, d_v)
        joined = context.unflatten(0, (rows, -1)).transpose(1, 2).flatten(2, 3)
        return joined[:, :, :queries]

    def bias(
        self, real: Tensor, queries: int, like: Tensor, penalty: DistanceBias | None = None
    ) -> Tensor:
        """With a penalty of distance, heads differ."""
        left, _ = self._sides(queries, real.shape[1])
        # (rows * blocks, 1, 1, left + block + right)
        keys = self.key_blocks(real[:, None, :, None], queries).transpose(2, 3)
        i = torch.arange(self.block(queries), device=real.device).unsqueeze(1)
        # (block, left + block + right)
        distance = torch.arange(keys.shape[3], device=real.device) - (i + left)
        near = (distance >= -self.before) & (distance <= self.after)
        # Otherwise padding would see no key, and its softmax would be NaN.
        bias = mask_bias(near & keys | (distance == 0), like.dtype)
        if penalty is None:
            return bias
        return bias + penalty(len(distance), keys.shape[3], left, like)


class BlockedScoring(Scoring):
    """Any scoring, block by block, so that a query is compared only with keys of its block."""

    def __init__(self, scoring: Scoring, blocks: Blocks) -> None:
        super().__init__()
        self.scoring, self.blocks = scoring, blocks

    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        """Weights ``(rows * blocks, heads, queries of a block, keys of a block)``."""
        key_blocks = self.blocks.key_blocks(keys, query.shape[2])
        query_blocks = self.blocks.query_blocks(query, keys.shape[2])
        first = self.blocks.first(query.shape[2], keys.shape[2])
        return self.scoring.weights(query_blocks, key_blocks, bias, first)

    def forward(
        self, query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout, first: int
    ) -> Tensor:
        """``bias`` has the same blocks."""
        rows, _, queries, _ = query.shape
        keys = memory.keys.shape[2]
        blocks = KeysValues(
            self.blocks.key_blocks(memory.keys, queries),
            self.blocks.key_blocks(memory.values, queries),
        )
        context = self.scoring(  # (rows * blocks, heads, queries of a block, d_v)
            self.blocks.query_blocks(query, keys),
            blocks,
            bias,
            dropout,
            self.blocks.first(queries, keys),
        )
        return self.blocks.joined(context, rows, queries, keys)
