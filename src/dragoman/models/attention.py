"""Scaled dot-product and multi-head attention (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.models.dropout import Dropout

_LONG = 1024
"""From this many keys on a CPU takes PyTorch's fused kernel, which never holds all scores.  Below,
plain products are two to six times faster in bfloat16, and as fast in float32."""


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


def attention_weights(query: Tensor, keys: Tensor, bias: Tensor | None) -> Tensor:
    """``softmax(Q K^T / sqrt(d_k) + bias)``, equation 1: ``(batch, heads, query, key)``.

    Args:
        query: ``(batch, heads, query, d_k)``.
        keys: ``(batch, heads, key, d_k)``.
        bias: broadcastable to the scores, from :func:`mask_bias` or :func:`causal_bias`.
    """
    scores = (query * query.shape[-1] ** -0.5) @ keys.transpose(-1, -2)
    if bias is not None:
        scores += bias
    return scores.softmax(-1)


def attend(
    query: Tensor, memory: KeysValues, bias: Tensor | None, dropout: Dropout | None = None
) -> Tensor:
    """``softmax(Q K^T / sqrt(d_k) + bias) V``, equation 1: ``(batch, heads, query, d_v)``.

    Long inputs take PyTorch's fused kernel, short ones plain products.  Dropout falls on the
    weights, if there is any.
    """
    dropping = dropout is not None and dropout.training and dropout.rate > 0
    if not dropping and (query.device.type != "cpu" or memory.keys.shape[2] >= _LONG):
        return functional.scaled_dot_product_attention(
            query, memory.keys, memory.values, attn_mask=bias
        )
    weights = attention_weights(query, memory.keys, bias)
    return (dropout(weights) if dropout is not None else weights) @ memory.values


class MultiHeadAttention(nn.Module):
    """``Concat(head_1, ..., head_h) W^O``, section 3.2.2; projections have no bias, as there.

    Keys and values are projected apart from queries, since they live longer: those of the
    source for all of decoding, those of earlier target positions in the state.
    """

    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.d_k, self.d_v = heads, d_k, d_v
        self.query = nn.Linear(d_model, heads * d_k, bias=False)
        self.key = nn.Linear(d_model, heads * d_k, bias=False)
        self.value = nn.Linear(d_model, heads * d_v, bias=False)
        self.output = nn.Linear(heads * d_v, d_model, bias=False)
        self.dropout = Dropout(dropout)
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

    def forward(self, x: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """Let each position of ``x`` look at ``memory``.

        Args:
            x: ``(rows, length, d_model)``.
            memory: of ``rows / beam`` rows: a sentence's beams share its keys, uncopied.
            bias: broadcastable to ``(rows / beam, heads, beam * length, keys)``.

        Returns:
            ``(rows, length, d_model)``.
        """
        rows, length, d_model = x.shape
        sentences = memory.keys.shape[0]
        x = x.reshape(sentences, -1, d_model)  # a sentence's beams become query positions
        context = attend(self.queries(x), memory, bias, self.dropout)
        return self.output(context.transpose(1, 2).reshape(rows, length, -1))

    def _split(self, x: Tensor, width: int) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, width).transpose(1, 2)
