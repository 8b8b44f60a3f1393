"""Attention other than by dot products alone: additive, and by relative positions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.models.layers.attention import KeysValues, Scoring, normalized
from dragoman.models.layers.dropout import Dropout


def additive_hidden(query: Tensor, keys: Tensor) -> Tensor:
    """``tanh(q + k)`` of every pair (Bahdanau et al. 2015, appendix A.1.2).

    Args:
        query: projected, ``(..., query, width)``.
        keys: projected, ``(..., key, width)``.

    Returns:
        ``(..., query, key, width)``.
    """
    return (query.unsqueeze(-2) + keys.unsqueeze(-3)).tanh_()


class Additive(Scoring):
    """``softmax(v^T tanh(W x + U y) + bias)`` for each head (Bahdanau et al. 2015, appendix A.1.2).

    W and U are the head's own projections of queries and keys, so v alone is new.  Every pair of
    a query and a key takes a hidden layer of width d_k: ``query * key * d_k`` numbers, where dot
    products take ``query * key`` (Vaswani et al. 2017, section 3.2.1).
    """

    def __init__(self, heads: int, d_k: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(heads, d_k))
        nn.init.normal_(self.vector, std=d_k**-0.5)

    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        """See :meth:`Scoring.weights`."""
        hidden = additive_hidden(query, keys)
        return normalized((hidden @ self.vector[:, None, :, None]).squeeze(-1), bias)


class RelativePositions(Scoring):
    """Learned vectors of the distance added to keys and values (Shaw et al. 2018, section 3.2).

    ``e_ij = q_i (k_j + a^K_ij) s`` and ``z_i = sum_j w_ij (v_j + a^V_ij)``, where ``a_ij`` is the
    vector of the distance ``j - i``, clipped; heads share the vectors, layers do not.  Scores of
    the distances are found once a query and then spread over keys, so that no vector exists for
    a pair of positions (section 3.3).

    Args:
        d_k: width of queries and keys.
        d_v: width of values.
        before: the furthest distance to the left that is told apart (k in the paper).
        after: the same to the right; 0 where only earlier positions are seen.
        scale: ``s``; ``1 / sqrt(d_k)`` if not given.
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

    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        """See :meth:`Scoring.weights`."""
        query = query * self.scale
        by_distance = query @ self.keys.transpose(0, 1)  # (rows, heads, query, distance)
        spread = by_distance.gather(-1, self._distances(query, keys, first))
        return normalized(query @ keys.transpose(-1, -2) + spread, bias)

    def forward(
        self, query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout, first: int
    ) -> Tensor:
        """See :meth:`Scoring.forward`."""
        weights = dropout(self.weights(query, memory.keys, bias, first))
        distances = self._distances(query, memory.keys, first)
        totals = weights.new_zeros(*weights.shape[:-1], len(self.values))
        return weights @ memory.values + totals.scatter_add(-1, distances, weights) @ self.values

    def _distances(self, query: Tensor, keys: Tensor, first: int) -> Tensor:
        """Rows of the tables, ``(rows, heads, query, key)``, expanded without a copy."""
        i = torch.arange(query.shape[2], device=query.device)
        j = torch.arange(keys.shape[2], device=query.device)
        distance = j - (i.unsqueeze(1) + first)
        rows = distance.clamp(-self.before, self.after) + self.before
        return rows.expand(*query.shape[:2], *rows.shape)
