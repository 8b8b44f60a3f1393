"""Attention in linear time by random features (FAVOR+, Choromanski et al. 2021).

"Rethinking Attention with Performers", arXiv:2009.14794.  With normal ``w_f`` and
``phi(x)_f = exp(w_f x - |x|^2 / 2)`` the mean of ``phi(q)_f phi(k)_f`` over many features is
``exp(q k)`` (lemma 1), so that softmax attention becomes

    context_i = sum_f phi(q_i)_f S_f / sum_f phi(q_i)_f z_f
    S_f = sum_j phi(k_j)_f v_j,  z_f = sum_j phi(k_j)_f

over all positions ``j``, or over those up to ``i`` in a decoder.  Features are kept as logarithms,
and a feature's sums are kept relative to its largest key, so nothing overflows, no denominator
comes near zero and no constant has to be added.

Choromanski et al. redraw the ``w_f`` during training.  Here they are drawn once, with the weights,
and saved with them, so that a resumed run and a loaded model keep their features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from typing_extensions import override

from dragoman.models.layers.attention import Heads
from dragoman.models.layers.mixing import DecoderMixing, EncoderMixing

_CHUNK = 64
"""Number of target positions compared pair by pair; sums cover earlier ones."""


def orthogonal_directions(heads: int, features: int, d_k: int) -> Tensor:
    """Normal vectors ``(heads, features, d_k)``, orthogonal in groups of d_k (section 2.4).

    The direction of a vector is uniform, and its length is that of an independent normal vector.
    Vectors are rounded to bfloat16, so that a model has the same vectors in every precision.
    """
    blocks = -(-features // d_k)
    q, r = torch.linalg.qr(torch.randn(heads, blocks, d_k, d_k))
    # Uniform over rotations only with the signs of R's diagonal (Mezzadri 2007).
    q = q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
    lengths = torch.randn(heads, features, d_k).norm(dim=-1, keepdim=True)  # (heads, features, 1)
    # (heads, blocks * d_k, d_k), of which the first features rows
    return (q.flatten(1, 2)[:, :features] * lengths).bfloat16().to(q.dtype)


class RandomFeatures(nn.Module):
    """``log phi(x)_f = w_f x - |x|^2 / 2``; the directions ``w`` are drawn once and saved."""

    def __init__(self, heads: int, features: int, d_k: int) -> None:
        super().__init__()
        self.directions: Tensor
        self.register_buffer("directions", orthogonal_directions(heads, features, d_k))

    def forward(self, x: Tensor) -> Tensor:
        """``(rows, heads, length, d_k)`` to ``(..., length, features)``, in float32 or wider."""
        x = x.to(torch.promote_types(x.dtype, torch.float32))
        directions = self.directions.to(x.dtype).transpose(1, 2)  # (heads, d_k, features)
        return x @ directions - x.square().sum(-1, keepdim=True) / 2


@dataclass(frozen=True)
class KeySums:
    """Sums over any number of keys and values, divided by ``exp(peaks)`` feature by feature."""

    peaks: Tensor  # (rows, heads, features): log phi of the feature's largest key
    weights: Tensor  # z, (rows, heads, features)
    values: Tensor  # S, (rows, heads, features, d_v)

    @classmethod
    def of(cls, keys: Tensor, values: Tensor) -> KeySums:
        """Sums of log features ``(rows, heads, length, features)`` and values of width d_v."""
        peaks = keys.detach().amax(2)  # (rows, heads, features)
        weights = (keys - peaks.unsqueeze(2)).exp()  # (rows, heads, length, features)
        return cls(peaks, weights.sum(2), weights.transpose(2, 3) @ values)

    @classmethod
    def empty(cls, rows: int, heads: int, features: int, d_v: int, like: Tensor) -> KeySums:
        """Sums of no keys."""
        sums = like.new_zeros(rows, heads, features, 1 + d_v)
        return cls(torch.full_like(sums[..., 0], _lowest(sums)), sums[..., 0], sums[..., 1:])

    def joined(self, other: KeySums) -> KeySums:
        """Sums of the keys of both."""
        peaks = torch.maximum(self.peaks, other.peaks)
        own, others = (self.peaks - peaks).exp(), (other.peaks - peaks).exp()
        return KeySums(
            peaks,
            own * self.weights + others * other.weights,
            own.unsqueeze(3) * self.values + others.unsqueeze(3) * other.values,
        )

    def seen(self, queries: Tensor) -> Seen:
        """Attention of queries, given as log features ``(rows, heads, length, features)``."""
        exponents = queries + self.peaks.unsqueeze(2)  # (rows, heads, length, features)
        peaks = exponents.detach().amax(3, keepdim=True)  # (rows, heads, length, 1)
        weights = (exponents - peaks).exp()
        return Seen(peaks, weights @ self.weights.unsqueeze(3), weights @ self.values)


@dataclass(frozen=True)
class Seen:
    """Numerators and denominators of queries, divided by ``exp(peaks)`` query by query."""

    peaks: Tensor  # (rows, heads, length, 1)
    weights: Tensor  # (rows, heads, length, 1)
    values: Tensor  # (rows, heads, length, d_v)

    def joined(self, other: Seen) -> Seen:
        """Numerators and denominators over the keys of both."""
        peaks = torch.maximum(self.peaks, other.peaks)
        own, others = (self.peaks - peaks).exp(), (other.peaks - peaks).exp()
        return Seen(
            peaks,
            own * self.weights + others * other.weights,
            own * self.values + others * other.values,
        )

    def context(self) -> Tensor:
        """The weighted mean of values, ``(rows, heads, length, d_v)``."""
        return self.values / self.weights


def seen_pair_by_pair(queries: Tensor, keys: Tensor, values: Tensor) -> Seen:
    """Numerators and denominators of each query over the keys up to its own, pair by pair.

    Sums shared by all queries are relative to the largest key.  If a query must not see that key,
    the keys that it does see may underflow.  Here each pair is relative to its own query and key.

    Args:
        queries: log features ``(rows, heads, length, features)``.
        keys: of the same shape.
        values: ``(rows, heads, length, d_v)``.
    """
    high_query = queries.detach().amax(3, keepdim=True)  # (rows, heads, length, 1)
    high_key = keys.detach().amax(3, keepdim=True)
    # (rows, heads, query, features) @ (rows, heads, features, key)
    pairs = (queries - high_query).exp() @ (keys - high_key).exp().transpose(2, 3)
    # A query and a key that share no feature may underflow to 0, which has no logarithm.
    floor = torch.finfo(pairs.dtype).tiny * 1e8
    logs = pairs.clamp_min(floor).log() + high_query + high_key.transpose(2, 3)
    later = torch.ones(logs.shape[2:], dtype=torch.bool, device=logs.device).triu(1)
    logs = logs.masked_fill(later, _lowest(logs))
    peaks = logs.detach().amax(3, keepdim=True)
    weights = (logs - peaks).exp()
    return Seen(peaks, weights.sum(3, keepdim=True), weights @ values)


def causal_attention(
    queries: Tensor, keys: Tensor, values: Tensor, past: KeySums
) -> tuple[Tensor, KeySums]:
    """Attention to the keys in ``past`` and up to each query's own, in linear time and memory.

    Arguments are those of :func:`seen_pair_by_pair`, and the sums of earlier positions.

    Returns:
        The context ``(rows, heads, length, d_v)``, and the sums including these keys.
    """
    parts = []
    chunks = (part.split(_CHUNK, dim=2) for part in (queries, keys, values))
    for query, key, value in zip(*chunks, strict=True):
        parts.append(past.seen(query).joined(seen_pair_by_pair(query, key, value)).context())
        past = past.joined(KeySums.of(key, value))
    return torch.cat(parts, dim=2), past


class LinearAttention(Heads):
    """Heads whose queries and keys are compared through random features.

    Args:
        sizes: d_model, heads, d_k and d_v.
        features: random features per head (m in the paper); each head has its own directions.
        scale: factor of dot products, ``1 / sqrt(d_k)`` by default; queries and keys are each
            multiplied by its root.
        bias: of each projection.
    """

    def __init__(
        self, *sizes: int, features: int, scale: float | None = None, bias: bool = False
    ) -> None:
        super().__init__(*sizes, bias=bias)
        self.features = RandomFeatures(self.heads, features, self.d_k)
        self.scale = (self.d_k**-0.5 if scale is None else scale) ** 0.5

    def projected(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log features of queries and of keys, and values, from ``(rows, length, d_model)``."""
        memory = self.keys_values(x)
        queries = self.features(self.queries(x) * self.scale)
        return queries, self.features(memory.keys * self.scale), memory.values.to(queries.dtype)


class EncoderLinearAttention(LinearAttention, EncoderMixing):
    """Every position sees all real tokens."""

    def mix(self, x: Tensor, shared: Tensor) -> Tensor:
        """``shared`` is the mask."""
        queries, keys, values = self.projected(x)
        # (batch, heads, source, features), masked by (batch, 1, source, 1)
        keys = keys.masked_fill(~shared[:, None, :, None], _lowest(keys))
        return self.joined(KeySums.of(keys, values).seen(queries).context().to(x.dtype))


class DecoderLinearAttention(LinearAttention, DecoderMixing):
    """Every position sees itself and earlier positions, of which only the sums are kept."""

    def past(self, rows: int, like: Tensor) -> KeySums:
        """Sums of no positions."""
        features = self.features.directions.shape[1]
        wide = like.new_empty(0, dtype=torch.promote_types(like.dtype, torch.float32))
        return KeySums.empty(rows, self.heads, features, self.d_v, wide)

    @override
    def read(
        self, x: Tensor, past: KeySums, start: int, shared: Tensor | None
    ) -> tuple[Tensor, KeySums]:
        context, past = causal_attention(*self.projected(x), past)
        return self.joined(context.to(x.dtype)), past


def _lowest(like: Tensor) -> float:
    """A stand-in for log 0 that stays finite in sums and differences."""
    return torch.finfo(like.dtype).min / 4
