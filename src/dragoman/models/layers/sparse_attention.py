"""Sparse self-attention (Child et al. 2019, "Generating Long Sequences with Sparse Transformers").

Two steps connect any two positions: one half of the heads sees near positions, the other a subset
of far positions.  Each has about ``sqrt(length)`` keys per query if the stride is about that.  The
paper has decoders only (section 4.3); in an encoder the same patterns reach in both directions.
Of its three ways to combine the two patterns (section 5.2) this is the multi-head way, whose heads
are computed in parallel.

Pairs outside the patterns are never compared: queries and keys are rearranged so that each pattern
is a batch of small dense products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from dragoman.models.layers.attention import KeysValues, mask_bias
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.neighbourhood import Band, BlockedScoring, Blocks, Neighbourhood
from dragoman.models.layers.scoring import Attending, Scoring

Sparsity = Literal["strided", "fixed"]


@dataclass(frozen=True)
class Columns(Blocks):
    """Keys whose distance is a multiple of ``stride``: ``(i - j) mod l = 0`` (section 4.3).

    A sentence is laid out in rows of ``stride`` positions, where each column is a block.
    """

    stride: int
    causal: bool

    @override
    def query_blocks(self, x: Tensor, keys: int) -> Tensor:
        columns = min(x.shape[2], self.stride)
        padded = functional.pad(x, (0, 0, 0, -x.shape[2] % columns))
        # by way of (rows, heads, queries of a column, columns, d_k)
        return padded.unflatten(2, (-1, columns)).permute(0, 3, 1, 2, 4).flatten(0, 1)

    def key_blocks(self, x: Tensor, queries: int) -> Tensor:
        """The first query is in the first column."""
        left = -(x.shape[2] - queries) % self.stride
        padded = functional.pad(x, (0, 0, left, -(x.shape[2] + left) % self.stride))
        # (rows, heads, keys of a column, stride, d), of which queries need some columns
        grid = padded.unflatten(2, (-1, self.stride))[..., : min(queries, self.stride), :]
        return grid.permute(0, 3, 1, 2, 4).flatten(0, 1)

    @override
    def joined(self, context: Tensor, rows: int, queries: int, keys: int) -> Tensor:
        # by way of (rows, heads, queries of a column, columns, d_v)
        joined = context.unflatten(0, (rows, -1)).permute(0, 2, 3, 1, 4).flatten(2, 3)
        return joined[:, :, :queries]

    @override
    def bias(self, real: Tensor, queries: int, like: Tensor) -> Tensor:
        # (rows * columns, 1, 1, keys of a column)
        keys = self.key_blocks(real[:, None, :, None], queries).transpose(2, 3)
        before = -((queries - real.shape[1]) // self.stride)  # rows of the grid above the queries
        count = -(queries // -min(queries, self.stride))
        return _visible(keys, count, before, like, causal=self.causal)


@dataclass(frozen=True)
class OwnBlock(Blocks):
    """Keys of the same block of ``size`` positions: ``floor(j / l) = floor(i / l)`` (4.3)."""

    size: int
    causal: bool

    def _layout(self, queries: int, keys: int) -> tuple[int, int, int]:
        """Keys before the first block, and positions to add left and right of the queries.

        Queries of a single block stay unpadded: a step of decoding is one query.
        """
        lead = (keys - queries) % self.size
        if lead + queries <= self.size:
            return keys - queries - lead, 0, 0
        return keys - queries - lead, lead, -(lead + queries) % self.size

    def _blocks(self, x: Tensor, left: int, right: int) -> Tensor:
        padded = functional.pad(x, (0, 0, left, right))
        block = min(padded.shape[2], self.size)
        return padded.unflatten(2, (-1, block)).transpose(1, 2).flatten(0, 1)

    @override
    def query_blocks(self, x: Tensor, keys: int) -> Tensor:
        _, left, right = self._layout(x.shape[2], keys)
        return self._blocks(x, left, right)

    @override
    def key_blocks(self, x: Tensor, queries: int) -> Tensor:
        first, _, right = self._layout(queries, x.shape[2])
        return self._blocks(x[:, :, first:], 0, right)

    @override
    def joined(self, context: Tensor, rows: int, queries: int, keys: int) -> Tensor:
        _, left, _ = self._layout(queries, keys)
        joined = context.unflatten(0, (rows, -1)).transpose(1, 2).flatten(2, 3)
        return joined[:, :, left : left + queries]

    @override
    def bias(self, real: Tensor, queries: int, like: Tensor) -> Tensor:
        first, left, right = self._layout(queries, real.shape[1])
        # (rows * blocks, 1, 1, keys of a block)
        keys = self.key_blocks(real[:, None, :, None], queries).transpose(2, 3)
        before = real.shape[1] - queries - first - left
        count = min(left + queries + right, self.size)
        return _visible(keys, count, before, like, causal=self.causal)


@dataclass(frozen=True)
class Summaries(Blocks):
    """The last ``count`` keys of every block of ``size``: ``j mod l >= l - c`` (section 4.3).

    The first position of the sentence is added, because the first block would otherwise see
    nothing.  All queries form one block.
    """

    size: int
    count: int
    causal: bool

    @override
    def query_blocks(self, x: Tensor, keys: int) -> Tensor:
        return x

    @override
    def key_blocks(self, x: Tensor, queries: int) -> Tensor:
        padded = functional.pad(x, (0, 0, 0, -x.shape[2] % self.size))
        # (rows, heads, blocks, count, d)
        last = padded.unflatten(2, (-1, self.size))[..., self.size - self.count :, :]
        return torch.cat([x[:, :, :1], last.flatten(2, 3)], dim=2)

    @override
    def joined(self, context: Tensor, rows: int, queries: int, keys: int) -> Tensor:
        return context

    @override
    def bias(self, real: Tensor, queries: int, like: Tensor) -> Tensor:
        # (rows, 1, 1, keys)
        keys = self.key_blocks(real[:, None, :, None], queries).transpose(2, 3)
        if self.causal:
            length = real.shape[1]
            places = torch.arange(length, device=real.device).view(1, 1, -1, 1)
            # Beyond the end the position is 0, but such a key is not real.
            j = self.key_blocks(places, queries).flatten()
            i = torch.arange(length - queries, length, device=real.device).unsqueeze(1)
            keys = keys & (j <= i)  # (rows, 1, queries, keys)
        return mask_bias(keys, like.dtype)


def _visible(keys: Tensor, queries: int, before: int, like: Tensor, *, causal: bool) -> Tensor:
    """The bias of blocks of neighbouring positions: every query sees itself, even at padding.

    Args:
        keys: whether each key is real, ``(blocks, 1, 1, keys)``.
        queries: number of queries in a block.
        before: number of keys in a block before its first query.
        like: gives the type.
        causal: hide later keys.
    """
    i = torch.arange(queries, device=keys.device).unsqueeze(1) + before
    j = torch.arange(keys.shape[3], device=keys.device)
    seen = keys & (j <= i) if causal else keys
    return mask_bias(seen | (j == i), like.dtype)


class Pattern(Protocol):
    """The two halves of a sparse pattern."""

    def near(self, *, causal: bool) -> Blocks:
        """Blocks of the first half of the heads."""

    def far(self, *, causal: bool) -> Blocks:
        """Blocks of the other half."""


@dataclass(frozen=True)
class Strided:
    """A window, and every ``stride``-th position (Child et al. 2019, section 4.3).

    The window has ``stride + 1`` positions: the last ones in a decoder, centred in an encoder.
    """

    stride: int

    def near(self, *, causal: bool) -> Blocks:
        """``{t, ..., i}`` with ``t = max(0, i - l)``."""
        after = 0 if causal else self.stride // 2
        return Band(self.stride - after, after)

    def far(self, *, causal: bool) -> Blocks:
        """``{j : (i - j) mod l = 0}``."""
        return Columns(self.stride, causal)


@dataclass(frozen=True)
class Fixed:
    """Blocks of ``stride`` positions, and the last ``summaries`` of every block (section 4.3)."""

    stride: int
    summaries: int

    def near(self, *, causal: bool) -> Blocks:
        """``{j : floor(j / l) = floor(i / l)}``."""
        return OwnBlock(self.stride, causal)

    def far(self, *, causal: bool) -> Blocks:
        """``{j : j mod l in {t, ..., l}}`` with ``t = l - c``."""
        return Summaries(self.stride, self.summaries, causal)


@dataclass(frozen=True)
class SplitBias:
    """The biases of the two halves of the heads."""

    near: Tensor
    far: Tensor


class SplitScoring(Attending):
    """Two halves of the heads, each with its own pattern; an odd head belongs to the first half.

    The scoring has no parameters, so that it serves any number of heads.
    """

    def __init__(self, scoring: Scoring, near: Blocks, far: Blocks) -> None:
        super().__init__()
        self.near, self.far = BlockedScoring(scoring, near), BlockedScoring(scoring, far)

    @override
    def forward(
        self, query: Tensor, memory: KeysValues, bias: SplitBias, dropout: Dropout, first: int
    ) -> Tensor:
        half = (query.shape[1] + 1) // 2
        keys, values = memory.keys, memory.values
        near = KeysValues(keys[:, :half], values[:, :half])
        far = KeysValues(keys[:, half:], values[:, half:])
        seen = [
            self.near(query[:, :half], near, bias.near, dropout, first),
            self.far(query[:, half:], far, bias.far, dropout, first),
        ]
        return torch.cat(seen, dim=1)


class Sparse(Neighbourhood):
    """The neighbourhood of a sparse pattern; a decoder needs, and so keeps, all positions."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern

    @override
    def restricted(self, scoring: Scoring, causal: bool) -> Attending:
        pattern = self.pattern
        return SplitScoring(scoring, pattern.near(causal=causal), pattern.far(causal=causal))

    @override
    def encoder_bias(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> SplitBias:
        return self._bias(mask, mask.shape[1], like, causal=False)

    @override
    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> SplitBias:
        real = torch.ones(rows, start + length, dtype=torch.bool, device=like.device)
        return self._bias(real, length, like, causal=True)

    def _bias(self, real: Tensor, queries: int, like: Tensor, *, causal: bool) -> SplitBias:
        near, far = self.pattern.near(causal=causal), self.pattern.far(causal=causal)
        return SplitBias(near.bias(real, queries, like), far.bias(real, queries, like))
