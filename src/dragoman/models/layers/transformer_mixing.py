"""Which way of :mod:`dragoman.models.layers.mixing` a Transformer takes: settings and choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from dragoman.models.layers.average_attention import AverageAttention
from dragoman.models.layers.convolution import OddWidth
from dragoman.models.layers.linear_attention import DecoderLinearAttention, EncoderLinearAttention
from dragoman.models.layers.mixing import DecoderMixing, EncoderMixing
from dragoman.models.layers.separable import DecoderSeparable, EncoderSeparable
from dragoman.models.layers.ssru import SSRU
from dragoman.models.layers.transformer_layers import (
    LayersConfig,
    attention_scale,
    attention_sizes,
    build_one_feed_forward,
    build_self_attention,
)


class MixingConfig(LayersConfig):
    """How positions of source and target see one another; the defaults are the paper's."""

    encoder_mixing: Literal["self_attention", "linear_attention", "separable_convolution"] = (
        "self_attention"
    )
    """How positions of the source see one another: self-attention (the paper), attention by
    random features at a cost linear in the length (FAVOR+, Choromanski et al. 2021), or a
    depthwise separable convolution (Kaiser et al. 2018)."""
    decoder_mixing: Literal[
        "self_attention", "linear_attention", "separable_convolution", "average_attention", "ssru"
    ] = "self_attention"
    """How a position of the target sees those before it: as in the encoder, or by their gated
    mean (Zhang et al. 2018) or a simple recurrence (SSRU, Kim et al. 2019). All but
    self-attention keep as much however long the target is, and each step costs the same."""
    random_features: int = Field(256, ge=1)
    """Features of each head of linear attention; its error falls with their square root."""
    kernel_width: OddWidth = Field(7, ge=3)
    """Positions that a separable convolution sees: centred at its own in the encoder, up to its
    own in the decoder; odd."""

    def conflicts(self) -> Iterator[str]:
        """What the chosen mixing does not read, or cannot do."""
        yield from super().conflicts()
        chosen = {self.encoder_mixing, self.decoder_mixing}
        if "linear_attention" not in chosen:
            yield from self.unread("without linear_attention", "random_features")
        elif self.attention == "additive":
            yield "attention: additive has no random features for linear_attention"
        if "separable_convolution" not in chosen:
            yield from self.unread("without separable_convolution", "kernel_width")
        if "self_attention" not in chosen:
            yield from self.unread("without self_attention", "window")
            if self.positions in {"relative", "rotary", "alibi"}:
                yield f"positions: {self.positions} is a part of self_attention"


def build_encoder_mixing(config: MixingConfig) -> EncoderMixing:
    """The first sublayer of an encoder layer."""
    if config.encoder_mixing == "linear_attention":
        return EncoderLinearAttention(*attention_sizes(config), **_linear_options(config))
    if config.encoder_mixing == "separable_convolution":
        return EncoderSeparable(config.d_model, config.kernel_width)
    return build_self_attention(config, causal=False)


def build_decoder_mixing(config: MixingConfig) -> DecoderMixing:
    """The first sublayer of a decoder layer."""
    if config.decoder_mixing == "linear_attention":
        return DecoderLinearAttention(*attention_sizes(config), **_linear_options(config))
    if config.decoder_mixing == "separable_convolution":
        return DecoderSeparable(config.d_model, config.kernel_width)
    if config.decoder_mixing == "average_attention":
        return AverageAttention(config.d_model, build_one_feed_forward(config))
    if config.decoder_mixing == "ssru":
        return SSRU(config.d_model)
    return build_self_attention(config, causal=True)


def _linear_options(config: MixingConfig) -> dict[str, Any]:
    return {"features": config.random_features, "scale": attention_scale(config)}
