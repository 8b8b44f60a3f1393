"""Positional encodings.

They are vectors added to embeddings (Vaswani et al. 2017, section 3.5), rotations of queries and
keys by position, or numbers added to scores by distance, fixed or learned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal, Self

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.core.config import Config
from dragoman.core.errors import DataError

Timescales = Literal["paper", "tensor2tensor"]

DistanceBias = Callable[[int, int, int, Tensor], Tensor]
"""The bias of scores by distance: a :class:`DistancePenalty` or :class:`DistanceBuckets`."""


class PositionalEncodingConfig(Config):
    """How layers know the position of a piece; the paper's sinusoids by default."""

    positions: Literal[
        "sinusoidal", "learned", "relative", "buckets", "rotary", "alibi", "none"
    ] = "sinusoidal"
    """Added to embeddings: sinusoidal, fixed sine and cosine (the paper); learned, learned vectors
    (Table 3, row E). In self-attention only: relative, learned vectors of distances (Shaw et al.
    2018); buckets, a learned number per head and range of distances, shared by all layers of a side
    (T5, Raffel et al. 2020); rotary, rotated queries and keys (Su et al. 2021); alibi, scores
    lowered by distance (Press et al. 2022). With alibi, an encoder tells left from right by the end
    symbol alone. none: no positions."""
    max_positions: int = Field(1024, ge=1)
    """Maximum sentence length in pieces with learned positions; other kinds of positions have no
    limit."""
    relative_distance: int = Field(16, ge=1)
    """Distance at which positions: relative is clipped (k in Shaw et al.)."""
    distance_buckets: int = Field(32, ge=4, le=4096, multiple_of=2)
    """Number of ranges of distances with positions: buckets; an even number. An encoder has half of
    them for each direction. In each direction, the nearer half of the ranges are single distances,
    and the others grow logarithmically."""
    bucket_distance: int = Field(128, ge=3, le=1_000_000)
    """Distance from which positions: buckets treats all distances alike."""
    timescales: Timescales = "paper"
    """Wavelengths of sinusoidal positions: a geometric progression that begins at 2 pi. Its last
    wavelength is 10000 times 2 pi (tensor2tensor, the authors' own program, and after it fairseq
    and Marian), or one step below that (paper, section 3.5)."""
    first_position: int = Field(0, ge=0, le=100_000)
    """Number of the first piece's position with sinusoidal positions; 2 in fairseq."""

    def conflicts(self) -> Iterator[str]:
        """Yield settings that the chosen positions do not read."""
        if self.positions != "learned":
            yield from self.unread("without positions: learned", "max_positions")
        if self.positions != "relative":
            yield from self.unread("without positions: relative", "relative_distance")
        if self.positions != "buckets":
            circumstance = "without positions: buckets"
            yield from self.unread(circumstance, "distance_buckets", "bucket_distance")
        elif self.bucket_distance <= self.distance_buckets // 2:
            yield (
                f"bucket_distance: {self.bucket_distance} must be above half of distance_buckets: "
                f"{self.distance_buckets}"
            )
        if self.positions != "sinusoidal":
            circumstance = "without positions: sinusoidal"
            yield from self.unread(circumstance, "timescales", "first_position")

    def conflicts_with(self, d_model: int) -> Iterator[str]:
        """Yield a width that the chosen positions do not support."""
        if self.timescales == "tensor2tensor" and (d_model % 2 or d_model < 4):
            yield f"timescales: tensor2tensor needs an even d_model of 4 or more, found {d_model}"

    @property
    def limit(self) -> int | None:
        """Number of learned positions; None for the others, which have no limit."""
        return self.max_positions if self.positions == "learned" else None

    def beside_a_second_tag(self) -> tuple[Self, Self]:
        """Positions of source and target if a tag of the source is the decoder's second input.

        Its place in the source does not count: sinusoids begin one earlier.  Learned positions have
        one more on both sides, for that place and for the begin symbol in front of the tag.
        """
        if self.positions == "learned":
            longer = self.model_copy(update={"max_positions": self.max_positions + 1})
            return longer, longer
        earlier = max(self.first_position - 1, 0)
        return self.model_copy(update={"first_position": earlier}), self


def sinusoids(
    length: int, d_model: int, timescales: Timescales = "paper", first: int = 0
) -> Tensor:
    """Interleaved sine and cosine, ``(length, d_model)``, computed in float64.

    ``PE(pos, 2i) = sin(pos / 10000^(2i / d_model))`` and ``PE(pos, 2i + 1)`` is its cosine.  With
    the timescales of tensor2tensor, ``2i / (d_model - 2)`` is the exponent.  ``first`` is the
    ``pos`` of the first row.
    """
    position = torch.arange(first, first + length, dtype=torch.float64).unsqueeze(1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000 ** (even / (d_model if timescales == "paper" else d_model - 2))
    table = torch.zeros(length, d_model, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : d_model // 2]
    return table


class SinusoidalPositions(nn.Module):
    """The paper's fixed positions, see :func:`sinusoids`.

    The table has ``length`` rows at first, and grows with the longest sentence seen.
    """

    def __init__(
        self, d_model: int, length: int = 256, timescales: Timescales = "paper", first: int = 0
    ) -> None:
        super().__init__()
        self.d_model, self.timescales, self.first = d_model, timescales, first
        self.table: Tensor
        self.register_buffer("table", self.rows(length).float(), persistent=False)

    def rows(self, length: int) -> Tensor:
        """The first ``length`` vectors, ``(length, d_model)``, in float64."""
        return sinusoids(length, self.d_model, self.timescales, self.first)

    def forward(self, start: int, length: int) -> Tensor:
        """Vectors of positions ``start`` to ``start + length``, ``(length, d_model)``."""
        end, table = start + length, self.table  # another thread may store a shorter table
        if end > len(table):
            # A table created during search must also work in training, see torch.inference_mode.
            with torch.inference_mode(mode=False):
                self.table = table = self.rows(2 * end).to(table)
        return table[start:end]


class LearnedPositions(nn.Module):
    """One learned vector per position (Table 3 row E; Gehring et al. 2017).

    ``scale`` multiplies the table's rows like the embeddings that they are added to, so that Adam
    moves both at the same rate.
    """

    def __init__(self, d_model: int, maximum: int, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale
        self.table = nn.Parameter(torch.empty(maximum, d_model))
        nn.init.normal_(self.table, std=d_model**-0.5)

    def forward(self, start: int, length: int) -> Tensor:
        """Vectors of positions ``start`` to ``start + length``, ``(length, d_model)``.

        Raises:
            DataError: a sentence is longer than the positions that the model has learned.
        """
        if start + length > len(self.table):
            raise DataError(
                f"a sentence needs {start + length} positions, the model has learned "
                f"{len(self.table)}; shorten it or train with a larger model.max_positions"
            )
        return self.table[start : start + length] * self.scale


class Rotation(nn.Module):
    """Queries and keys rotated by their position (RoFormer, Su et al. 2021, equation 34).

    Pair ``i`` of the ``d_k / 2`` pairs of neighbouring elements is rotated in its plane by the
    angle ``position / 10000^(2i / d_k)``, so that positions affect the product of a query and a key
    only through their distance.
    """

    def __init__(self, d_k: int) -> None:
        super().__init__()
        self.angles = SinusoidalPositions(d_k)

    def forward(self, x: Tensor, start: int) -> Tensor:
        """``(rows, heads, length, d_k)`` at positions from ``start`` on, to the same shape."""
        table = self.angles(start, x.shape[2])  # (length, d_k)
        sine, cosine = table[:, 0::2], table[:, 1::2]
        if x.dtype in {torch.float32, torch.float64} and not torch.onnx.is_in_onnx_export():
            # A turn is a product of complex numbers, which takes a CPU a third of the time of the
            # four products below.  ONNX and 16-bit types lack complex numbers.
            pairs = x.unflatten(-1, (-1, 2))  # (rows, heads, length, d_k / 2, 2)
            turned = torch.view_as_complex(pairs) * torch.complex(cosine, sine)
            return torch.view_as_real(turned).flatten(-2)
        even, odd = x[..., 0::2], x[..., 1::2]  # (rows, heads, length, d_k / 2)
        turned = torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1)
        return turned.flatten(-2)


class DistancePenalty:
    """ALiBi: ``-m |i - j|`` added to scores (Press et al. 2022, section 3).

    Head ``h`` of ``n``, counted from 1, has the slope ``m = 2^(-8h / n)``.  The paper has only a
    decoder, where ``j <= i``; in an encoder the distance counts equally in both directions.
    """

    def __init__(self, heads: int) -> None:
        self.slopes = [2 ** (-8 * head / heads) for head in range(1, heads + 1)]

    def __call__(self, queries: int, keys: int, first: int, like: Tensor) -> Tensor:
        """The bias, ``(1, heads, queries, keys)``, with the type and device of ``like``.

        ``first`` is the index of the key at the position of the first query.
        """
        i = torch.arange(queries, device=like.device).unsqueeze(1)  # (queries, 1)
        j = torch.arange(keys, device=like.device)
        wide = torch.promote_types(like.dtype, torch.float32)
        slopes = torch.tensor(self.slopes, dtype=wide, device=like.device).view(1, -1, 1, 1)
        return (-slopes * (j - (i + first)).abs()).to(like.dtype)


class DistanceBuckets(nn.Module):
    """A learned number per head and range of distances (T5, Raffel et al. 2020, section 2.1).

    All layers of a side add the same numbers to their scores.  The first half of the ranges of a
    direction are the distances 0, 1, 2 ..., each alone.  The others grow with the logarithm of the
    distance, up to ``furthest``, beyond which all distances are one range.  Of ``n`` ranges with
    ``e = n / 2``, the distance ``d >= e`` is in the range
    ``min(n - 1, e + floor(log(d / e) / log(furthest / e) * (n - e)))``, as in the authors' program.
    If later positions are seen, either direction has half of the ranges.

    Args:
        d_model: the inverse of its square root is the standard deviation at first.
        heads: their number.
        buckets: number of ranges.
        furthest: distance from which all are in the last range.
        causal: whether only earlier positions are seen.
    """

    def __init__(
        self, d_model: int, heads: int, buckets: int, furthest: int, *, causal: bool
    ) -> None:
        super().__init__()
        self.furthest = furthest
        self.ranges: Tensor  # (2 * furthest + 1,): of the distances from -furthest on
        ranges = torch.tensor(_ranges(buckets, furthest, causal=causal))
        self.register_buffer("ranges", ranges, persistent=False)
        self.table = nn.Parameter(torch.empty(buckets, heads))
        nn.init.normal_(self.table, std=d_model**-0.5)

    def forward(self, queries: int, keys: int, first: int, like: Tensor) -> Tensor:
        """The bias, ``(1, heads, queries, keys)``, with the type and device of ``like``.

        ``first`` is the index of the key at the position of the first query.
        """
        i = torch.arange(queries, device=like.device).unsqueeze(1)  # (queries, 1)
        j = torch.arange(keys, device=like.device)
        distance = (j - (i + first)).clamp(-self.furthest, self.furthest) + self.furthest
        by_distance = self.table[self.ranges].to(like.dtype)  # (2 * furthest + 1, heads)
        return by_distance[distance].permute(2, 0, 1).unsqueeze(0)


def _ranges(buckets: int, furthest: int, *, causal: bool) -> list[int]:
    """The range of each distance from ``-furthest`` (to the left) to ``furthest``."""
    count = buckets if causal else buckets // 2
    exact = count // 2
    # Single precision on a CPU, as in the authors' program and its copies: where the logarithm is
    # an integer, rounding decides the range.
    distance = torch.arange(furthest + 1, device="cpu").float()
    growth = torch.log(distance / exact) / math.log(furthest / exact) * (count - exact)
    grown = (exact + growth.clamp(min=0).long()).clamp(max=count - 1)
    left = torch.where(distance < exact, distance.long(), grown).tolist()
    right = [0 if causal else count + number for number in left[1:]]
    return [*reversed(left), *right]


def added_positions(
    d_model: int, config: PositionalEncodingConfig, scale: float
) -> nn.Module | None:
    """The module of vectors added to embeddings; None if positions are of another kind."""
    if config.positions == "sinusoidal":
        timescales, first = config.timescales, config.first_position
        return SinusoidalPositions(d_model, timescales=timescales, first=first)
    if config.positions == "learned":
        return LearnedPositions(d_model, config.max_positions, scale)
    return None
