"""Choosing the classes of a Transformer's sublayers, and the settings that determine the choice.

Positions see one another through a :mod:`dragoman.models.layers.mixing`; the paper's is
self-attention (Vaswani et al. 2017, section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, overload

from pydantic import Field

from dragoman.core.config import Config
from dragoman.models.layers.attention import MultiHeadAttention, MultiHeadConfig
from dragoman.models.layers.average_attention import AverageAttention
from dragoman.models.layers.convolution import OddWidth
from dragoman.models.layers.global_tokens import GlobalWindow
from dragoman.models.layers.linear_attention import DecoderLinearAttention, EncoderLinearAttention
from dragoman.models.layers.mixing import DecoderMixing, EncoderMixing
from dragoman.models.layers.neighbourhood import Everywhere, Neighbourhood, Window
from dragoman.models.layers.positions import (
    DistanceBuckets,
    DistancePenalty,
    PositionalEncodingConfig,
    Rotation,
)
from dragoman.models.layers.scoring import (
    Additive,
    DotProduct,
    RelativePositions,
    ScoredAttention,
    Scoring,
)
from dragoman.models.layers.self_attention import (
    DecoderScoredSelfAttention,
    DecoderSelfAttention,
    EncoderScoredSelfAttention,
    EncoderSelfAttention,
)
from dragoman.models.layers.separable import DecoderSeparable, EncoderSeparable
from dragoman.models.layers.sparse_attention import Fixed, Sparse, Strided
from dragoman.models.layers.ssru import SSRU
from dragoman.models.layers.sublayers import FeedForwardConfig, build_one_feed_forward


class MixingConfig(Config):
    """How positions of source and target see one another; the defaults are the paper's."""

    encoder_mixing: Literal["self_attention", "linear_attention", "separable_convolution"] = (
        "self_attention"
    )
    """How positions of the source see one another: self-attention (the paper); linear_attention, by
    random features (FAVOR+, Choromanski et al. 2021), whose cost is linear in the length; or a
    depthwise separable convolution (Kaiser et al. 2018)."""
    decoder_mixing: Literal[
        "self_attention", "linear_attention", "separable_convolution", "average_attention", "ssru"
    ] = "self_attention"
    """How a position of the target sees earlier ones: as in the encoder, or by their gated mean
    (average_attention, Zhang et al. 2018) or a simple recurrence (ssru, Kim et al. 2019). Except
    with self-attention, memory and time per step do not depend on the target's length."""
    random_features: int = Field(256, ge=1)
    """Features per head of linear attention; its error falls with the square root of their
    number."""
    kernel_width: OddWidth = Field(7, ge=3)
    """Number of positions that a separable convolution sees, odd: around each position in the
    encoder, up to each position in the decoder."""

    def conflicts(self) -> Iterator[str]:
        """Yield settings that the chosen mixing does not read."""
        if "linear_attention" not in self.chosen:
            yield from self.unread("without linear_attention", "random_features")
        if "separable_convolution" not in self.chosen:
            yield from self.unread("without separable_convolution", "kernel_width")

    def conflicts_with(
        self, heads: MultiHeadConfig, encoding: PositionalEncodingConfig
    ) -> Iterator[str]:
        """Yield settings of attention and positions that the mixing does not read or support."""
        if "linear_attention" in self.chosen and heads.attention == "additive":
            yield "attention: additive has no random features for linear_attention"
        if "self_attention" not in self.chosen:
            yield from heads.unread("without self_attention", "window", "sparsity")
            if encoding.positions in {"relative", "buckets", "rotary", "alibi"}:
                yield f"positions: {encoding.positions} needs self_attention"
        elif self.encoder_mixing != "self_attention":
            names = ("global_positions", "global_tags")
            yield from heads.unread("without self_attention in the encoder", *names)

    @property
    def chosen(self) -> set[str]:
        """The mixings of both sides."""
        return {self.encoder_mixing, self.decoder_mixing}


def build_encoder_mixing(
    d_model: int,
    mixing: MixingConfig,
    heads: MultiHeadConfig,
    encoding: PositionalEncodingConfig,
    *,
    buckets: DistanceBuckets | None = None,
) -> EncoderMixing:
    """The first sublayer of an encoder layer; ``buckets`` are those of all layers."""
    if mixing.encoder_mixing == "linear_attention":
        return EncoderLinearAttention(*_sizes(d_model, heads), **_linear_options(mixing, heads))
    if mixing.encoder_mixing == "separable_convolution":
        return EncoderSeparable(d_model, mixing.kernel_width)
    return build_self_attention(d_model, heads, encoding, buckets, causal=False)


def build_decoder_mixing(
    d_model: int,
    mixing: MixingConfig,
    heads: MultiHeadConfig,
    encoding: PositionalEncodingConfig,
    feed_forward: FeedForwardConfig,
    *,
    buckets: DistanceBuckets | None = None,
) -> DecoderMixing:
    """The first sublayer of a decoder layer; ``buckets`` are those of all layers."""
    if mixing.decoder_mixing == "linear_attention":
        return DecoderLinearAttention(*_sizes(d_model, heads), **_linear_options(mixing, heads))
    if mixing.decoder_mixing == "separable_convolution":
        return DecoderSeparable(d_model, mixing.kernel_width)
    if mixing.decoder_mixing == "average_attention":
        return AverageAttention(d_model, build_one_feed_forward(d_model, feed_forward))
    if mixing.decoder_mixing == "ssru":
        return SSRU(d_model)
    return build_self_attention(d_model, heads, encoding, buckets, causal=True)


def build_attention(d_model: int, heads: MultiHeadConfig) -> MultiHeadAttention:
    """Attention without positions, such as over the source."""
    sizes = (*_sizes(d_model, heads), heads.attention_dropout)
    if heads.attention == "additive":
        scoring = _scoring(d_model, heads)
        return ScoredAttention(*sizes, scoring=scoring, bias=heads.attention_bias)
    return MultiHeadAttention(*sizes, scale=heads.scale, bias=heads.attention_bias)


@overload
def build_self_attention(
    d_model: int,
    heads: MultiHeadConfig,
    encoding: PositionalEncodingConfig,
    buckets: DistanceBuckets | None = None,
    *,
    causal: Literal[True],
) -> DecoderSelfAttention:
    pass


@overload
def build_self_attention(
    d_model: int,
    heads: MultiHeadConfig,
    encoding: PositionalEncodingConfig,
    buckets: DistanceBuckets | None = None,
    *,
    causal: Literal[False],
) -> EncoderSelfAttention:
    pass


def build_self_attention(
    d_model: int,
    heads: MultiHeadConfig,
    encoding: PositionalEncodingConfig,
    buckets: DistanceBuckets | None = None,
    *,
    causal: bool,
) -> DecoderSelfAttention | EncoderSelfAttention:
    """Self-attention, the only attention that positions, window and sparsity apply to."""
    sizes = (*_sizes(d_model, heads), heads.attention_dropout)
    neighbourhood = build_neighbourhood(heads, encoding, buckets)
    of_dot_products = heads.attention != "additive" and not heads.restricted
    if of_dot_products and encoding.positions not in {"relative", "rotary"}:
        plain = DecoderSelfAttention if causal else EncoderSelfAttention
        return plain(
            *sizes, neighbourhood=neighbourhood, scale=heads.scale, bias=heads.attention_bias
        )
    scoring = _scoring(d_model, heads)
    d_k, d_v = heads.head_widths(d_model)
    if encoding.positions == "relative":
        before = encoding.relative_distance
        scoring = RelativePositions(d_k, d_v, before, 0 if causal else before, heads.scale)
    scored = DecoderScoredSelfAttention if causal else EncoderScoredSelfAttention
    return scored(
        *sizes,
        scoring=neighbourhood.restricted(scoring, causal),
        rotation=Rotation(d_k) if encoding.positions == "rotary" else None,
        neighbourhood=neighbourhood,
        scale=heads.scale,
        bias=heads.attention_bias,
    )


def build_buckets(
    d_model: int,
    heads: MultiHeadConfig,
    encoding: PositionalEncodingConfig,
    mixing: str = "self_attention",
    *,
    causal: bool,
) -> DistanceBuckets | None:
    """The learned bias of distances, which belongs to all layers of a side; most have none."""
    if encoding.positions != "buckets" or mixing != "self_attention":
        return None
    ranges = encoding.distance_buckets, encoding.bucket_distance
    return DistanceBuckets(d_model, heads.heads, *ranges, causal=causal)


def build_neighbourhood(
    heads: MultiHeadConfig,
    encoding: PositionalEncodingConfig,
    buckets: DistanceBuckets | None = None,
) -> Neighbourhood:
    """The positions that the self-attention of all layers sees."""
    penalty = DistancePenalty(heads.heads) if encoding.positions == "alibi" else buckets
    if heads.sparsity == "strided":
        return Sparse(Strided(heads.stride))
    if heads.sparsity == "fixed":
        return Sparse(Fixed(heads.stride, heads.summaries))
    if heads.window is None:
        return Everywhere(penalty)
    if heads.has_globals:
        return GlobalWindow(heads.window, heads.global_positions + len(heads.global_tags))
    return Window(heads.window, penalty)


def _sizes(d_model: int, heads: MultiHeadConfig) -> tuple[int, int, int, int]:
    return d_model, heads.heads, *heads.head_widths(d_model)


def _scoring(d_model: int, heads: MultiHeadConfig) -> Scoring:
    if heads.attention == "additive":
        return Additive(heads.heads, heads.head_widths(d_model)[0])
    return DotProduct(heads.scale)


def _linear_options(mixing: MixingConfig, heads: MultiHeadConfig) -> dict[str, Any]:
    return {
        "features": mixing.random_features,
        "scale": heads.scale,
        "bias": heads.attention_bias,
    }
