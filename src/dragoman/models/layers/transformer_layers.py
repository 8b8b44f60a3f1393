"""What Transformers have in common, with an encoder and without: configuration and parts.

Vaswani et al. 2017, section 3; the variations are values of :class:`LayersConfig`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal, overload

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from dragoman.models.interface import FamilyConfig
from dragoman.models.layers.attention import DotProduct, MultiHeadAttention, Scoring
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.mixture import Mixture, MixtureConfig
from dragoman.models.layers.neighbourhood import Everywhere, Neighbourhood, Window
from dragoman.models.layers.positions import (
    DistancePenalty,
    LearnedPositions,
    Rotation,
    SinusoidalPositions,
)
from dragoman.models.layers.scoring import Additive, RelativePositions
from dragoman.models.layers.self_attention import DecoderSelfAttention, EncoderSelfAttention
from dragoman.models.layers.sublayers import Activation, Norm, Normalization, Residual, feed_forward


class LayersConfig(FamilyConfig):
    """Sizes and choices of layers of attention; the defaults are the paper's base model."""

    d_ff: int = Field(2048, ge=1)
    """Width inside the feed-forward sublayers."""
    activation: Activation = "relu"
    """Of the feed-forward sublayers: relu (the paper), gelu or swiglu (Shazeer 2020), which has
    a third matrix; it is as large as the others at 2/3 of their d_ff."""
    heads: int = Field(8, ge=1, le=1024)
    """Attention heads (h in the paper)."""
    d_k: int | None = Field(None, ge=1)
    """Width of a head's queries and keys; d_model / heads if not given."""
    d_v: int | None = Field(None, ge=1)
    """Width of a head's values; d_model / heads if not given."""
    mixture: MixtureConfig | None = None
    """Experts in the place of every feed-forward sublayer (Shazeer et al. 2017)."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on sublayer outputs and on the sum of embedding and position (section 5.4)."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on attention weights; not in the paper."""
    feed_forward_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout inside the feed-forward sublayer; not in the paper."""
    norm: Norm = "post"
    """Layer normalisation after the residual sum (the paper) or before the sublayer."""
    normalization: Normalization = "layer"
    """Layer normalisation (the paper) or by the root mean square alone (Zhang and Sennrich
    2019)."""
    attention: Literal["scaled_dot", "dot", "additive"] = "scaled_dot"
    """How queries meet keys (section 3.2.1): dot products divided by sqrt(d_k) (the paper), the
    same undivided, or a hidden layer (Bahdanau et al. 2015), which takes d_k times the memory."""
    positions: Literal["sinusoidal", "learned", "relative", "rotary", "alibi", "none"] = (
        "sinusoidal"
    )
    """Added to embeddings: fixed sine and cosine (the paper) or learned vectors (Table 3 row E).
    In self-attention alone: learned vectors of distances (relative, Shaw et al. 2018), queries
    and keys turned (rotary, Su et al. 2021), scores lowered by distance (alibi, Press et al.
    2022; on both sides in the encoder, which then tells left from right by the end symbol alone).
    Or none."""
    window: int | None = Field(None, ge=3, le=100_000)
    """Self-attention sees so many positions, an odd number (section 4): centred at its own in the
    encoder, up to its own in the decoder, at a cost linear in the length; all if not given."""
    max_positions: int = Field(1024, ge=1)
    """Longest sentence in pieces that learned positions allow; the others have no limit."""
    relative_distance: int = Field(16, ge=1)
    """Distance from which on relative positions are no longer told apart (k in Shaw et al.)."""

    def conflicts(self) -> Iterator[str]:
        """Sizes that do not divide, choices that exclude one another, settings of others."""
        if self.d_model % self.heads and (self.d_k is None or self.d_v is None):
            yield (
                f"d_model {self.d_model} is not divisible by heads {self.heads}; "
                "change one of them or give d_k and d_v"
            )
        elif self.positions == "rotary" and self.head_widths[0] % 2:
            yield f"positions: rotary needs an even d_k, found {self.head_widths[0]}"
        if self.attention == "additive" and self.positions in {"relative", "rotary"}:
            yield f"positions: {self.positions} is made for dot products, not attention: additive"
        if self.window is not None and self.window % 2 == 0:
            yield f"window {self.window} has no centre; make it odd"
        if self.positions != "learned":
            yield from self.unread("without positions: learned", "max_positions")
        if self.positions != "relative":
            yield from self.unread("without positions: relative", "relative_distance")

    @property
    def position_limit(self) -> int | None:
        """As many positions as are learned; sinusoids go on for ever."""
        return self.max_positions if self.positions == "learned" else None

    @property
    def head_widths(self) -> tuple[int, int]:
        """(d_k, d_v) with the defaults filled in."""
        width = self.d_model // self.heads
        return self.d_k or width, self.d_v or width


def build_attention(config: LayersConfig) -> MultiHeadAttention:
    """Attention without positions, such as that over the source."""
    sizes = attention_sizes(config)
    return MultiHeadAttention(*sizes, config.attention_dropout, scoring=_scoring(config))


@overload
def build_self_attention(config: LayersConfig, *, causal: Literal[True]) -> DecoderSelfAttention:
    pass


@overload
def build_self_attention(config: LayersConfig, *, causal: Literal[False]) -> EncoderSelfAttention:
    pass


def build_self_attention(
    config: LayersConfig, *, causal: bool
) -> DecoderSelfAttention | EncoderSelfAttention:
    """Attention of a sentence to itself, where positions and the window count.

    Args:
        config: how.
        causal: whether only earlier positions are seen.
    """
    scoring = _scoring(config)
    if config.positions == "relative":
        before = config.relative_distance
        after = 0 if causal else before
        scoring = RelativePositions(*config.head_widths, before, after, attention_scale(config))
    neighbourhood = build_neighbourhood(config)
    kind = DecoderSelfAttention if causal else EncoderSelfAttention
    return kind(
        *attention_sizes(config),
        config.attention_dropout,
        scoring=neighbourhood.restricted(scoring, causal),
        rotation=Rotation(config.head_widths[0]) if config.positions == "rotary" else None,
        neighbourhood=neighbourhood,
    )


def build_neighbourhood(config: LayersConfig) -> Neighbourhood:
    """Which positions the self-attention of all layers sees."""
    penalty = DistancePenalty(config.heads) if config.positions == "alibi" else None
    return Everywhere(penalty) if config.window is None else Window(config.window, penalty)


def build_residual(config: LayersConfig) -> Residual:
    """What stands around one sublayer."""
    return Residual(config.d_model, config.dropout, config.norm, config.normalization)


def build_feed_forward(config: LayersConfig) -> nn.Module:
    """One feed-forward sublayer, or a mixture of them."""
    expert = partial(build_one_feed_forward, config)
    if config.mixture is None:
        return expert()
    return Mixture(config.d_model, config.mixture, expert)


def build_one_feed_forward(config: LayersConfig) -> nn.Module:
    """One feed-forward sublayer, whether or not there are mixtures of them."""
    return feed_forward(config.d_model, config.d_ff, config.feed_forward_dropout, config.activation)


def attention_scale(config: LayersConfig) -> float | None:
    """What dot products are multiplied by; None is ``1 / sqrt(d_k)``."""
    return 1.0 if config.attention == "dot" else None


def attention_sizes(config: LayersConfig) -> tuple[int, int, int, int]:
    """d_model, heads, d_k and d_v."""
    return config.d_model, config.heads, *config.head_widths


def _scoring(config: LayersConfig) -> Scoring:
    if config.attention == "additive":
        return Additive(config.heads, config.head_widths[0])
    return DotProduct(attention_scale(config))


def _added_positions(config: LayersConfig) -> nn.Module | None:
    """What gives vectors to be added to embeddings, if the positions are of this kind."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.d_model)
    if config.positions == "learned":
        return LearnedPositions(config.d_model, config.max_positions, config.d_model**0.5)
    return None


class Embedding(nn.Module):
    """``E[id] * sqrt(d_model) + position``, then dropout (sections 3.4, 3.5 and 5.4).

    Learned positions are multiplied by ``sqrt(d_model)``, too.
    """

    def __init__(self, config: LayersConfig, vocabulary: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, config.d_model))
        nn.init.normal_(self.weight, std=config.d_model**-0.5)
        self.positions = _added_positions(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """``(rows, length)`` at positions from ``start`` on, to ``(rows, length, d_model)``."""
        vectors = functional.embedding(ids, self.weight) * self.weight.shape[1] ** 0.5
        if self.positions is not None:
            vectors = vectors + self.positions(start, ids.shape[1])
        return self.dropout(vectors)
