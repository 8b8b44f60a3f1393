"""Scaled dot-product and multi-head attention (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from dragoman.core.config import Config
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import PositionalEncodingConfig
from dragoman.models.layers.softmax import softmax

_LONG = 1024
"""Number of keys from which CPUs use PyTorch's fused kernel, which never holds all scores.  Below
it, training with plain products is two to nine times faster in bfloat16, and about as fast in
float32 (decision 115).
"""
_MANY = 1 << 18
"""Number of scores per head from which the fused kernel also pays.  A decoding step has one query,
for which plain products are up to six times faster with any number of keys.
"""
_TINY = 400
"""Below this many multiplications each, PyTorch's batched float32 product is a plain loop on a CPU,
three to five times slower than the same sums element by element.
"""


class MultiHeadConfig(Config):
    """Multi-head attention, over the source and within a sentence; the paper's base model."""

    heads: int = Field(8, ge=1, le=1024)
    """Attention heads (h in the paper)."""
    d_k: int | None = Field(None, ge=1)
    """Width of a head's queries and keys; d_model / heads if not given."""
    d_v: int | None = Field(None, ge=1)
    """Width of a head's values; d_model / heads if not given."""
    attention: Literal["scaled_dot", "dot", "additive"] = "scaled_dot"
    """How queries are compared with keys (section 3.2.1): scaled_dot, dot products divided by
    sqrt(d_k) (the paper); dot, undivided; or additive, a hidden layer (Bahdanau et al. 2015), which
    takes d_k times the memory."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on attention weights; not in the paper."""
    attention_bias: bool = False
    """Whether the projections of queries, keys, values and outputs have a bias, as in most other
    toolkits; not in the paper."""
    window: int | None = Field(None, ge=3, le=100_000)
    """Number of positions that self-attention sees (section 4), odd: around each position in the
    encoder, up to each position in the decoder. The cost is then linear in the length. By default
    all positions are seen."""
    global_positions: int = Field(0, ge=0, le=100_000)
    """Number of first source positions that see all others, and are seen by all, despite the window
    (Longformer, Beltagy et al. 2020); in the encoder only."""
    global_tags: tuple[str, ...] = ()
    """Tags, such as a separator of sentences, that are global anywhere in a source; the vocabulary
    must have them."""
    sparsity: Literal["none", "strided", "fixed"] = "none"
    """Sparse self-attention in place of a window (Child et al. 2019). strided: half of the heads
    see the nearest `stride` + 1 positions, the other half every `stride`-th position. fixed: half
    of the heads see their block of `stride` positions, the other half the last `summaries`
    positions of every block. Encoders look in both directions, decoders only back."""
    stride: int = Field(16, ge=2, le=100_000)
    """Distance between the positions that sparse self-attention sees, or size of its blocks; the
    cost is lowest near the square root of the length."""
    summaries: int = Field(1, ge=1, le=100_000)
    """Number of positions at the end of each block that all positions see, in fixed sparse
    self-attention."""

    def conflicts(self) -> Iterator[str]:
        """A window needs a centre, global tokens a window, sparse attention two heads."""
        if self.window is not None and self.window % 2 == 0:
            yield f"window {self.window} has no centre; make it odd"
        if self.window is None:
            yield from self.unread("without a window", "global_positions", "global_tags")
        if self.sparsity == "none":
            yield from self.unread("without sparsity", "stride")
        else:
            if self.window is not None:
                yield f"window: {self.window} does not go with sparsity; set one of them"
            if self.heads == 1:
                yield "sparsity needs 2 heads or more, one for what is near and one for the rest"
        if self.sparsity != "fixed":
            yield from self.unread("without sparsity: fixed", "summaries")
        elif self.summaries >= self.stride:
            yield f"summaries: {self.summaries} must be below stride: {self.stride}"

    @property
    def has_globals(self) -> bool:
        """Whether some tokens see the whole sentence in spite of a window."""
        return self.global_positions > 0 or bool(self.global_tags)

    @property
    def restricted(self) -> bool:
        """Whether self-attention sees only part of the sentence."""
        return self.window is not None or self.sparsity != "none"

    def conflicts_with(self, d_model: int, encoding: PositionalEncodingConfig) -> Iterator[str]:
        """Yield indivisible sizes, and positions that these heads do not support."""
        positions = encoding.positions
        if d_model % self.heads and (self.d_k is None or self.d_v is None):
            yield (
                f"d_model {d_model} is not divisible by heads {self.heads}; "
                "change one of them or give d_k and d_v"
            )
        elif positions == "rotary" and self.head_widths(d_model)[0] % 2:
            yield f"positions: rotary needs an even d_k, found {self.head_widths(d_model)[0]}"
        if self.attention == "additive" and positions in {"relative", "rotary"}:
            yield f"positions: {positions} works only with dot products, not attention: additive"
        if self.sparsity != "none" and self.attention == "additive":
            yield "sparsity works only with dot products, not attention: additive"
        if positions in {"relative", "buckets", "alibi"}:
            if self.sparsity != "none":
                yield f"positions: {positions} does not go with sparsity: {self.sparsity}"
            if self.has_globals:
                yield f"positions: {positions} does not go with global tokens"

    def head_widths(self, d_model: int) -> tuple[int, int]:
        """(d_k, d_v) with the defaults filled in."""
        width = d_model // self.heads
        return self.d_k or width, self.d_v or width

    @property
    def scale(self) -> float | None:
        """The factor of dot products; None is ``1 / sqrt(d_k)``."""
        return 1.0 if self.attention == "dot" else None


@dataclass(frozen=True)
class KeysValues:
    """The keys and values that queries attend to."""

    keys: Tensor  # (rows, heads, length, d_k)
    values: Tensor  # (rows, heads, length, d_v)


def mask_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where ``mask`` is True, minus infinity elsewhere: added to scores before the softmax."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -torch.inf)


def causal_bias(start: int, length: int, like: Tensor) -> Tensor | None:
    """Bias ``(length, start + length)`` that hides later positions; None if there are none."""
    if length == 1:
        return None
    bias = torch.full((length, start + length), -torch.inf, dtype=like.dtype, device=like.device)
    return bias.triu_(start + 1)


def beams_as_queries(x: Tensor, sentences: int) -> Tensor:
    """``(sentences * beam, length, width)`` to ``(sentences, beam * length, width)``.

    The beams of a sentence then share one memory without copies.
    """
    return x.reshape(sentences, -1, x.shape[-1])


def normalized(scores: Tensor, bias: Tensor | None) -> Tensor:
    """``softmax(scores + bias)`` over keys; ``scores`` are overwritten."""
    if bias is not None:
        scores += bias
    return softmax(scores)


def dot_products(query: Tensor, keys: Tensor, bias: Tensor | None, scale: float | None) -> Tensor:
    """``Q K^T / sqrt(d_k) + bias``: ``(batch, heads, query, key)``.

    The bias is expanded first and the products are added to it all at once, because adding the bias
    to short rows takes a CPU three times as long as the products.
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if bias is None:
        # (batch, heads, query, d_k) @ (batch, heads, d_k, key)
        return (query * scale) @ keys.transpose(-1, -2)
    shape = (*query.shape[:3], keys.shape[2])
    # (batch * heads, query, d_k) @ (batch * heads, d_k, key)
    scores = torch.baddbmm(
        bias.expand(shape).flatten(0, 1),
        query.flatten(0, 1),
        keys.flatten(0, 1).transpose(1, 2),
        alpha=scale,
    )
    return scores.view(shape)


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
    return softmax(dot_products(query, keys, bias, scale))


def attend(
    query: Tensor,
    memory: KeysValues,
    bias: Tensor | None,
    dropout: Dropout | None = None,
    scale: float | None = None,
) -> Tensor:
    """``softmax(Q K^T / sqrt(d_k) + bias) V``, equation 1: ``(batch, heads, query, d_v)``.

    Many queries of long inputs use PyTorch's fused kernel, others plain products.  Dropout, if
    given, applies to the weights.
    """
    dropping = dropout is not None and dropout.training and dropout.rate > 0
    keys = memory.keys.shape[2]
    many = keys >= _LONG and query.shape[2] * keys >= _MANY
    if not dropping and (many or query.device.type != "cpu"):
        return functional.scaled_dot_product_attention(
            query, memory.keys, memory.values, attn_mask=bias, scale=scale
        )
    weights = attention_weights(query, memory.keys, bias, scale)
    return weighted_sums(dropout(weights) if dropout is not None else weights, memory.values)


def weighted_sums(weights: Tensor, values: Tensor) -> Tensor:
    """``weights V``, ``(rows, heads, query, d_v)``."""
    on_cpu = values.device.type == "cpu" and values.dtype == torch.float32
    if on_cpu and weights.shape[2] == 1 and values.shape[2] * values.shape[3] < _TINY:
        return (weights.transpose(2, 3) * values).sum(2, keepdim=True)
    return weights @ values


class Heads(nn.Module):
    """The projections of heads, ``W^Q``, ``W^K``, ``W^V`` and ``W^O`` (section 3.2.2).

    Keys and values are projected separately from queries because they are kept longer: keys of the
    source for all of decoding, keys of earlier target positions in the state.

    Args:
        d_model: width of input and output.
        heads: their number.
        d_k: width of a head's queries and keys.
        d_v: width of a head's values.
        bias: of each projection; the paper's have none.
    """

    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int, *, bias: bool = False) -> None:
        super().__init__()
        self.heads, self.d_k, self.d_v = heads, d_k, d_v
        self.query = nn.Linear(d_model, heads * d_k, bias)
        self.key = nn.Linear(d_model, heads * d_k, bias)
        self.value = nn.Linear(d_model, heads * d_v, bias)
        self.output = nn.Linear(heads * d_v, d_model, bias)
        for projection in (self.query, self.key, self.value):
            # Initialised as if the three were one matrix, as in PyTorch's MultiheadAttention: with
            # a gain of 1, self-attention outgrew the residual of a post-norm encoder
            # (docs/decisions/114).
            nn.init.xavier_uniform_(projection.weight, gain=2**-0.5)
        nn.init.xavier_uniform_(self.output.weight)
        if bias:
            for projection in (self.query, self.key, self.value, self.output):
                nn.init.zeros_(projection.bias)

    def queries(self, x: Tensor, start: int = 0) -> Tensor:
        """``(rows, length, d_model)`` from position ``start`` on to ``(rows, heads, length, d_k)``.

        Only rotary heads depend on ``start``.
        """
        return self._split(self.query(x), self.d_k)

    def keys_values(self, x: Tensor, start: int = 0) -> KeysValues:
        """Project ``(rows, length, d_model)`` from position ``start`` on, once for many queries."""
        return KeysValues(self._split(self.key(x), self.d_k), self._split(self.value(x), self.d_v))

    def joined(self, context: Tensor) -> Tensor:
        """``(rows, heads, length, d_v)`` to ``(rows, length, d_model)``."""
        return self.output(context.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor, width: int) -> Tensor:
        # (rows, length, heads * width) to (rows, heads, length, width)
        return x.view(x.shape[0], x.shape[1], self.heads, width).transpose(1, 2)


class MultiHeadAttention(Heads):
    """``Concat(head_1, ..., head_h) W^O``, section 3.2.2, by dot products.

    Dropout applies to the weights; ``scale`` is the factor of dot products, ``1 / sqrt(d_k)`` by
    default.  :class:`dragoman.models.layers.scoring.ScoredAttention` compares queries with keys in
    other ways.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_k: int,
        d_v: int,
        dropout: float,
        *,
        scale: float | None = None,
        bias: bool = False,
    ) -> None:
        super().__init__(d_model, heads, d_k, d_v, bias=bias)
        self.dropout = Dropout(dropout)
        self.scale = scale

    def forward(self, x: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """Attend from each position of ``x`` to ``memory``, such as the source.

        Args:
            x: ``(rows, length, d_model)``.
            memory: of ``rows / beam`` sentences, whose beams share the keys without copies.
            bias: broadcastable to ``(rows / beam, heads, beam * length, keys)``.

        Returns:
            ``(rows, length, d_model)``.
        """
        # (rows / beam, heads, beam * length, d_k), and context with d_v
        queries = self.queries(beams_as_queries(x, memory.keys.shape[0]))
        context = attend(queries, memory, bias, self.dropout, self.scale)
        return self.joined(context).view(x.shape)

    def weights(self, x: Tensor, memory: KeysValues, bias: Tensor | None) -> Tensor:
        """The weights in :meth:`forward`, ``(rows / beam, heads, beam * length, keys)``."""
        queries = self.queries(beams_as_queries(x, memory.keys.shape[0]))
        return attention_weights(queries, memory.keys, bias, self.scale)
