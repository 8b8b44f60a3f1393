"""The Transformer, exactly as in "Attention Is All You Need" (Vaswani et al. 2017).

The defaults are the paper's base model; what the paper varies in its Table 3 is a value of
:class:`TransformerConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.models.attention import KeysValues, MultiHeadAttention, mask_bias
from dragoman.models.embeddings import Sharing, tie
from dragoman.models.interface import Memory, State, TranslationModel
from dragoman.models.mixture import Mixture
from dragoman.models.sublayers import final_norm
from dragoman.models.transformer_layers import (
    Embedding,
    LayersConfig,
    build_attention,
    build_feed_forward,
    build_neighbourhood,
    build_residual,
    build_self_attention,
)


class TransformerConfig(LayersConfig):
    """Sizes and choices of a Transformer; the defaults are the paper's base model."""

    family: Literal["transformer"] = "transformer"
    """Which family of models this is."""
    encoder_layers: int = Field(6, ge=1)
    """Layers of the encoder (N in the paper)."""
    decoder_layers: int = Field(6, ge=1)
    """Layers of the decoder."""
    embeddings: Sharing = "shared"
    """shared: one matrix for source, target and output (the paper, section 3.4; needs a joint
    vocabulary); target: one for target and output; separate: three matrices."""


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoder's output with every decoder layer's keys and values of it."""

    layers: list[KeysValues]
    bias: Tensor  # (batch, 1, 1, source)


@dataclass(frozen=True)
class TransformerState(State):
    """Keys and values of the target positions that a next one sees, one entry a layer."""

    layers: list[KeysValues]
    length: int  # target positions read so far


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = build_self_attention(config, causal=False)
        self.feed_forward = build_feed_forward(config)
        self.residuals = nn.ModuleList(build_residual(config) for _ in range(2))

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """``(batch, source, d_model)`` to the same shape."""
        attend_self, feed = self.residuals

        def self_attention(x: Tensor) -> Tensor:
            return self.attention(x, self.attention.keys_values(x), bias)

        return feed(attend_self(x, self_attention), self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the source, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = build_self_attention(config, causal=True)
        self.cross_attention = build_attention(config)
        self.feed_forward = build_feed_forward(config)
        self.residuals = nn.ModuleList(build_residual(config) for _ in range(3))

    def read_source(self, encoded: Tensor) -> KeysValues:
        """This layer's keys and values of the source, from ``(batch, source, d_model)``."""
        return self.cross_attention.keys_values(encoded)

    def forward(
        self,
        x: Tensor,
        past: KeysValues,
        causal: Tensor | None,
        source: KeysValues,
        source_bias: Tensor,
        *,
        start: int,
    ) -> tuple[Tensor, KeysValues]:
        """``(rows, target, d_model)`` from ``start`` on to the same shape, and the new past."""
        attend_self, attend_source, feed = self.residuals
        now = past

        def self_attention(x: Tensor) -> Tensor:
            nonlocal now
            now = past.extended(self.self_attention.keys_values(x, start))
            return self.self_attention(x, now, causal, start)

        x = attend_self(x, self_attention)
        x = attend_source(x, partial(self.cross_attention, memory=source, bias=source_bias))
        return feed(x, self.feed_forward), now


class Transformer(TranslationModel):
    """Encoder and decoder of stacked attention (Vaswani et al. 2017, Figure 1).

    Raises:
        ConfigError: embeddings are to be shared between vocabularies of different size.
    """

    def __init__(
        self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        config.check_vocabularies(source_vocabulary, target_vocabulary)
        self.config = config
        self.position_limit = config.position_limit
        self.neighbourhood = build_neighbourhood(config)
        self.source_embedding = Embedding(config, source_vocabulary)
        self.target_embedding = Embedding(config, target_vocabulary)
        self.output = nn.Linear(config.d_model, target_vocabulary, bias=False)
        if config.sharing == "separate":
            nn.init.normal_(self.output.weight, std=config.d_model**-0.5)
        tie(config.sharing, self.source_embedding, self.target_embedding, self.output)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.encoder_norm = final_norm(config.d_model, config.norm, config.normalization)
        self.decoder_norm = final_norm(config.d_model, config.norm, config.normalization)

    def encode(self, source: Tensor, source_mask: Tensor) -> TransformerMemory:
        """Read the source; see :meth:`TranslationModel.encode`."""
        x = self.source_embedding(source)
        bias = self.neighbourhood.encoder_bias(source_mask, x)
        for layer in self.encoder:
            x = layer(x, bias)
        x = self.encoder_norm(x)
        layers = [cast(DecoderLayer, layer).read_source(x) for layer in self.decoder]
        seen = mask_bias(source_mask, x.dtype)[:, None, None, :]
        return TransformerMemory(x, source_mask, layers, seen)

    def start(self, memory: Memory, beam: int = 1) -> TransformerState:
        """No target positions yet, for ``beam`` rows a sentence."""
        d_k, d_v = self.config.head_widths
        rows = memory.hidden.shape[0] * beam
        empty = KeysValues(
            memory.hidden.new_empty(rows, self.config.heads, 0, d_k),
            memory.hidden.new_empty(rows, self.config.heads, 0, d_v),
        )
        return TransformerState([empty] * len(self.decoder), 0)

    def decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, TransformerState]:
        """Read further target positions; see :meth:`TranslationModel.decode`."""
        assert isinstance(memory, TransformerMemory)
        assert isinstance(state, TransformerState)
        rows, length = target.shape
        x = self.target_embedding(target, state.length)
        causal = self.neighbourhood.decoder_bias(rows, state.length, length, x)
        layers = []
        for layer, past, source in zip(self.decoder, state.layers, memory.layers, strict=True):
            x, now = layer(x, past, causal, source, memory.bias, start=state.length)
            layers.append(self.neighbourhood.kept(now))
        return self.decoder_norm(x), TransformerState(layers, state.length + length)

    def auxiliary_loss(self, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """Of all mixtures of experts; see :meth:`TranslationModel.auxiliary_loss`."""
        if self.config.mixture is None or not self.training:
            return None
        layers = [(layer, source_mask) for layer in self.encoder]
        layers += [(layer, target_mask) for layer in self.decoder]
        losses = [cast(Mixture, layer.feed_forward).balancing_loss(mask) for layer, mask in layers]
        return torch.stack(losses).sum()

    def attention_weights(self, target: Tensor, memory: Memory) -> Tensor:
        """Weights over the source; see :meth:`TranslationModel.attention_weights`."""
        assert isinstance(memory, TransformerMemory)
        seen: list[Tensor] = []

        def watch(
            attention: nn.Module, inputs: tuple[Tensor, ...], options: dict[str, Any]
        ) -> None:
            assert isinstance(attention, MultiHeadAttention)
            keys, bias = options["memory"].keys, options["bias"]
            queries = attention.queries(inputs[0])
            seen.append(attention.scoring.weights(queries, keys, bias, first=0))

        layers = [cast(DecoderLayer, layer).cross_attention for layer in self.decoder]
        hooks = [layer.register_forward_pre_hook(watch, with_kwargs=True) for layer in layers]
        try:
            self.decode(target, memory, self.start(memory))
        finally:
            for hook in hooks:
                hook.remove()
        return torch.stack(seen, dim=1)

    def logits(self, hidden: Tensor) -> Tensor:
        """``(..., d_model)`` to ``(..., target_vocabulary)``."""
        return self.output(hidden)
