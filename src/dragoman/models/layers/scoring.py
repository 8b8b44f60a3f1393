"""Attention other than by plain dot products: additive, with relative positions, rotary.

:class:`ScoredAttention` is multi-head attention with one of these in place of
:func:`dragoman.models.layers.attention.attend`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from dragoman.models.layers.attention import (
    KeysValues,
    MultiHeadAttention,
    attend,
    attention_weights,
    beams_as_queries,
    normalized,
)
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import Rotation


class Attending(nn.Module, ABC):
    """The attention of all heads to values, given queries, keys and a bias."""

    @abstractmethod
    def forward(
        self, query: Tensor, memory: KeysValues, bias: Any, dropout: Dropout, first: int
    ) -> Tensor:
        """Weighted sums of values, ``(rows, heads, query, d_v)``.

        Args:
            query: ``(rows, heads, query, d_k)``.
            memory: keys and values of the same rows and heads.
            bias: the neighbourhood's bias for these queries and keys, or None.
            dropout: on the weights.
            first: in self-attention, the index of the key at the position of the first query.
        """


class Scoring(Attending):
    """Comparison of queries with keys, in all heads of an attention."""

    @abstractmethod
    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        """Weights ``(rows, heads, query, key)`` that sum to 1 over keys.

        Args:
            query: ``(rows, heads, query, d_k)``.
            keys: ``(rows, heads, key, d_k)``.
            bias: broadcastable to the weights, from :func:`mask_bias` or :func:`causal_bias`.
            first: in self-attention, the index of the key at the position of the first query.
        """

    def forward(
        self, query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout, first: int
    ) -> Tensor:
        """Weighted sums of values, ``(rows, heads, query, d_v)``."""
        return dropout(self.weights(query, memory.keys, bias, first)) @ memory.values


class DotProduct(Scoring):
    """``softmax(s Q K^T + bias)``, with ``s = 1 / sqrt(d_k)`` (equation 1) by default.

    ``s = 1`` is the dot-product attention of section 3.2.1, whose softmax the paper suspects of
    small gradients if d_k is large.
    """

    def __init__(self, scale: float | None = None) -> None:
        super().__init__()
        self.scale = scale

    @override
    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        return attention_weights(query, keys, bias, self.scale)

    @override
    def forward(
        self, query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout, first: int
    ) -> Tensor:
        return attend(query, memory, bias, dropout, self.scale)


def additive_hidden(query: Tensor, keys: Tensor) -> Tensor:
    """``tanh(q + k)`` of every pair, ``(..., query, key, width)`` (Bahdanau et al., A.1.2)."""
    return (query.unsqueeze(-2) + keys.unsqueeze(-3)).tanh_()


class Additive(Scoring):
    """``softmax(v^T tanh(W x + U y) + bias)`` for each head (Bahdanau et al. 2015, appendix A.1.2).

    W and U are the head's projections of queries and keys, so only v is new.  Every pair of a
    query and a key takes a hidden layer of width d_k: ``query * key * d_k`` numbers, whereas dot
    products take ``query * key`` (Vaswani et al. 2017, section 3.2.1).
    """

    def __init__(self, heads: int, d_k: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(heads, d_k))
        nn.init.normal_(self.vector, std=d_k**-0.5)

    @override
    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        hidden = additive_hidden(query, keys)  # (rows, heads, query, key, d_k)
        return normalized((hidden @ self.vector[:, None, :, None]).squeeze(-1), bias)


class RelativePositions(Scoring):
    """Learned vectors of the distance added to keys and values (Shaw et al. 2018, section 3.2).

    ``e_ij = q_i (k_j + a^K_ij) s`` and ``z_i = sum_j w_ij (v_j + a^V_ij)``, where ``a_ij`` is the
    vector of the clipped distance ``j - i``.  Heads share the vectors, layers do not.  The scores
    of distances are computed once per query and then spread over keys, which avoids a vector per
    pair of positions (section 3.3).

    Args:
        d_k: width of queries and keys.
        d_v: width of values.
        before: distance to the left at which distances are clipped (k in the paper).
        after: the same to the right; 0 if only earlier positions are seen.
        scale: ``s``; ``1 / sqrt(d_k)`` by default.
    """

    def __init__(
        self, d_k: int, d_v: int, before: int, after: int, scale: float | None = None
    ) -> None:
        super().__init__()
        self.before, self.after = before, after
        self.scale = d_k**-0.5 if scale is None else scale
        self.keys = nn.Parameter(torch.empty(before + 1 + after, d_k))
        self.values = nn.Parameter(torch.empty(before + 1 + after, d_v))
        for table in (self.keys, self.values):
            nn.init.xavier_uniform_(table)

    @override
    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        query = query * self.scale
        by_distance = query @ self.keys.transpose(0, 1)  # (rows, heads, query, distance)
        spread = by_distance.gather(-1, self._distances(query, keys, first))  # (..., query, key)
        return normalized(query @ keys.transpose(-1, -2) + spread, bias)

    @override
    def forward(
        self, query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout, first: int
    ) -> Tensor:
        weights = dropout(self.weights(query, memory.keys, bias, first))
        distances = self._distances(query, memory.keys, first)
        totals = weights.new_zeros(*weights.shape[:-1], len(self.values))  # (..., query, distance)
        return weights @ memory.values + totals.scatter_add(-1, distances, weights) @ self.values

    def _distances(self, query: Tensor, keys: Tensor, first: int) -> Tensor:
        """Rows of the tables, ``(rows, heads, query, key)``, expanded without a copy."""
        i = torch.arange(query.shape[2], device=query.device)
        j = torch.arange(keys.shape[2], device=query.device)
        distance = j - (i.unsqueeze(1) + first)
        rows = distance.clamp(-self.before, self.after) + self.before
        return rows.expand(*query.shape[:2], *rows.shape)


class ScoredAttention(MultiHeadAttention):
    """Multi-head attention with another scoring, or with queries and keys rotated by position.

    ``options`` are those of the next class in the method resolution order.
    """

    def __init__(
        self, *sizes: Any, scoring: Attending, rotation: Rotation | None = None, **options: Any
    ) -> None:
        super().__init__(*sizes, **options)
        self.scoring = scoring
        self.rotation = rotation

    @override
    def queries(self, x: Tensor, start: int = 0) -> Tensor:
        return self._turned(super().queries(x), start)

    @override
    def keys_values(self, x: Tensor, start: int = 0) -> KeysValues:
        memory = super().keys_values(x)
        return KeysValues(self._turned(memory.keys, start), memory.values)

    def scored(self, x: Tensor, memory: KeysValues, bias: Any, start: int) -> Tensor:
        """Attend from each position of ``x`` to ``memory``, which ends at the same position.

        Args:
            x: ``(rows, length, d_model)`` from position ``start`` on.
            memory: of the same rows.
            bias: broadcastable to ``(rows, heads, length, keys)``, or as the scoring expects it.
            start: see ``x``.

        Returns:
            ``(rows, length, d_model)``.
        """
        first = memory.keys.shape[2] - x.shape[1]
        queries = self.queries(x, start)
        return self.joined(self.scoring(queries, memory, bias, self.dropout, first))

    @override
    def forward(self, x: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        queries = self.queries(beams_as_queries(x, memory.keys.shape[0]))
        return self.joined(self.scoring(queries, memory, bias, self.dropout, 0)).view(x.shape)

    @override
    def weights(self, x: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        assert isinstance(self.scoring, Scoring)
        queries = self.queries(beams_as_queries(x, memory.keys.shape[0]))
        return self.scoring.weights(queries, memory.keys, bias, first=0)

    def _turned(self, x: Tensor, start: int) -> Tensor:
        return x if self.rotation is None else self.rotation(x, start)
