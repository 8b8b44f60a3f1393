"""Scaled dot-product and multi-head attention (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import Rotation

_LONG = 1024
"""From this many keys on a CPU takes PyTorch's fused kernel, which never holds all scores.  Below,
plain products are two to nine times faster to train with in bfloat16, and about as fast in
float32 (docs/performance.md)."""


@dataclass(frozen=True)
class KeysValues:
    """What queries look at: keys ``(rows, heads, length, d_k)``, values with ``d_v``."""

    keys: Tensor
    values: Tensor

    def extended(self, later: KeysValues) -> KeysValues:
        """These positions followed by ``later`` ones."""
        if self.keys.shape[2] == 0:
            return later
        return KeysValues(
            torch.cat([self.keys, later.keys], dim=2),
            torch.cat([self.values, later.values], dim=2),
        )


def mask_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where ``mask`` is True, minus infinity elsewhere: added to scores before the softmax."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -torch.inf)


def causal_bias(start: int, length: int, like: Tensor) -> Tensor | None:
    """Bias ``(length, start + length)`` that hides later positions; None where none is later."""
    if length == 1:
        return None
    bias = torch.full((length, start + length), -torch.inf, dtype=like.dtype, device=like.device)
    return bias.triu_(start + 1)


def beams_as_queries(x: Tensor, sentences: int) -> Tensor:
    """``(sentences * beam, length, width)`` to ``(sentences, beam * length, width)``.

    Thus the beams of a sentence look at one memory, which is not copied for them.
    """
    return x.reshape(sentences, -1, x.shape[-1])


def normalized(scores: Tensor, bias: Tensor | None) -> Tensor:
    """``softmax(scores + bias)`` over keys; ``scores`` are overwritten."""
    if bias is not None:
        scores += bias
    return scores.softmax(-1)


def attention_weights(
    query: Tensor, keys: Tensor, bias: Tensor | None, scale: float | None = None
) -> Tensor:
    """``softmax(Q K^T / sqrt(d_k) + bias)``, equation 1: ``(batch, heads, query, key)``.

    Args:
        query: ``(batch, heads, query, d_k)``.
        keys: ``(batch, heads, key, d_k)``.
        bias: broadcastable to the scores, from :func:`mask_bias` or :func:`causal_bias`.
        scale: instead of ``1 / sqrt(d_k)``.
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return normalized((query * scale) @ keys.transpose(-1, -2), bias)


def attend(
    query: Tensor,
    memory: KeysValues,
    bias: Tensor | None,
    dropout: Dropout | None = None,
    scale: float | None = None,
) -> Tensor:
    """``softmax(Q K^T / sqrt(d_k) + bias) V``, equation 1: ``(batch, heads, query, d_v)``.

    Long inputs take PyTorch's fused kernel, short ones plain products.  Dropout falls on the
    weights, if there is any.
    """
    dropping = dropout is not None and dropout.training and dropout.rate > 0
    if not dropping and (query.device.type != "cpu" or memory.keys.shape[2] >= _LONG):
        return functional.scaled_dot_product_attention(
            query, memory.keys, memory.values, attn_mask=bias, scale=scale
        )
    weights = attention_weights(query, memory.keys, bias, scale)
    return (dropout(weights) if dropout is not None else weights) @ memory.values


class Scoring(nn.Module, ABC):
    """How much each query takes of each value: what the heads of an attention have in common."""

    @abstractmethod
    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        """Weights ``(rows, heads, query, key)`` that sum to 1 over keys.

        Args:
            query: ``(rows, heads, query, d_k)``.
            keys: ``(rows, heads, key, d_k)``.
            bias: broadcastable to the weights, from :func:`mask_bias` or :func:`causal_bias`.
            first: in self-attention, which key stands where the first query stands.
        """

    def forward(
        self, query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout, first: int
    ) -> Tensor:
        """Values by their weights, ``(rows, heads, query, d_v)``; see :meth:`weights`."""
        return dropout(self.weights(query, memory.keys, bias, first)) @ memory.values


class DotProduct(Scoring):
    """``softmax(s Q K^T + bias)``, with ``s = 1 / sqrt(d_k)`` (equation 1) if none is given.

    ``s = 1`` is the dot-product attention of section 3.2.1, whose softmax the paper suspects to
    have small gradients where d_k is large.
    """

    def __init__(self, scale: float | None = None) -> None:
        super().__init__()
        self.scale = scale

    def weights(self, query: Tensor, keys: Tensor, bias: Tensor | None, first: int) -> Tensor:
        """See :meth:`Scoring.weights`."""
        return attention_weights(query, keys, bias, self.scale)

    def forward(
        self, query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout, first: int
    ) -> Tensor:
        """See :meth:`Scoring.forward`."""
        return attend(query, memory, bias, dropout, self.scale)


class Heads(nn.Module):
    """The projections of heads, ``W^Q``, ``W^K``, ``W^V`` and ``W^O`` (section 3.2.2), unbiased.

    Keys and values are projected apart from queries, since they live longer: those of the
    source for all of decoding, those of earlier target positions in the state.

    Args:
        d_model: width of what comes in and goes out.
        heads: their number.
        d_k: width of a head's queries and keys.
        d_v: width of a head's values.
    """

    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads, self.d_k, self.d_v = heads, d_k, d_v
        self.query = nn.Linear(d_model, heads * d_k, bias=False)
        self.key = nn.Linear(d_model, heads * d_k, bias=False)
        self.value = nn.Linear(d_model, heads * d_v, bias=False)
        self.output = nn.Linear(heads * d_v, d_model, bias=False)
        for projection in (self.query, self.key, self.value):
            # The three as one matrix, as PyTorch's MultiheadAttention has it: with a gain of 1
            # self-attention outgrew the residual of a post-norm encoder (docs/results.md).
            nn.init.xavier_uniform_(projection.weight, gain=2**-0.5)
        nn.init.xavier_uniform_(self.output.weight)

    def queries(self, x: Tensor) -> Tensor:
        """``(rows, length, d_model)`` to ``(rows, heads, length, d_k)``."""
        return self._split(self.query(x), self.d_k)

    def keys_values(self, x: Tensor) -> KeysValues:
        """Project ``(rows, length, d_model)`` once, to be looked at by many queries."""
        return KeysValues(self._split(self.key(x), self.d_k), self._split(self.value(x), self.d_v))

    def joined(self, context: Tensor) -> Tensor:
        """``(rows, heads, length, d_v)`` to ``(rows, length, d_model)``."""
        return self.output(context.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor, width: int) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, width).transpose(1, 2)


class MultiHeadAttention(Heads):
    """``Concat(head_1, ..., head_h) W^O``, section 3.2.2.

    Args:
        d_model: width of what comes in and goes out.
        heads: their number.
        d_k: width of a head's queries and keys.
        d_v: width of a head's values.
        dropout: on the weights.
        scoring: how queries meet keys; the paper's scaled dot product if not given.
        rotation: turns queries and keys by their positions.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_k: int,
        d_v: int,
        dropout: float,
        *,
        scoring: Scoring | None = None,
        rotation: Rotation | None = None,
    ) -> None:
        super().__init__(d_model, heads, d_k, d_v)
        self.dropout = Dropout(dropout)
        self.scoring = scoring or DotProduct()
        self.rotation = rotation

    def queries(self, x: Tensor, start: int = 0) -> Tensor:
        """``(rows, length, d_model)`` from ``start`` on to ``(rows, heads, length, d_k)``."""
        return self._turned(super().queries(x), start)

    def keys_values(self, x: Tensor, start: int = 0) -> KeysValues:
        """See :meth:`Heads.keys_values`; ``start`` is the position of the first of ``x``."""
        memory = super().keys_values(x)
        return KeysValues(self._turned(memory.keys, start), memory.values)

    def forward(self, x: Tensor, memory: KeysValues, bias: Tensor | None, start: int = 0) -> Tensor:
        """Let each position of ``x`` look at ``memory``.

        Args:
            x: ``(rows, length, d_model)``.
            memory: of ``rows / beam`` rows: a sentence's beams share its keys, uncopied.
            bias: broadcastable to ``(rows / beam, heads, beam * length, keys)``.
            start: position of the first of ``x``; in self-attention, whose last position is
                the last of ``memory``.

        Returns:
            ``(rows, length, d_model)``.
        """
        first = memory.keys.shape[2] - x.shape[1]
        queries = self.queries(beams_as_queries(x, len(memory.keys)), start)
        return self.joined(self.scoring(queries, memory, bias, self.dropout, first)).view(x.shape)

    def weights(self, x: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """Where each position of ``x`` looks, ``(rows / beam, heads, beam * length, keys)``.

        See :meth:`forward`; not for self-attention.
        """
        queries = self.queries(beams_as_queries(x, len(memory.keys)))
        return self.scoring.weights(queries, memory.keys, bias, first=0)

    def _turned(self, x: Tensor, start: int) -> Tensor:
        return x if self.rotation is None else self.rotation(x, start)
