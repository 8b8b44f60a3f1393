"""The Transformer, exactly as in "Attention Is All You Need" (Vaswani et al. 2017).

The defaults are the paper's base model; what the paper varies in its Table 3 is a value of
:class:`TransformerConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from dragoman.errors import ConfigError
from dragoman.models.attention import (
    KeysValues,
    MultiHeadAttention,
    attention_weights,
    causal_bias,
    mask_bias,
)
from dragoman.models.dropout import Dropout
from dragoman.models.interface import FamilyConfig, Memory, State, TranslationModel
from dragoman.models.positions import LearnedPositions, SinusoidalPositions
from dragoman.models.sublayers import (
    Activation,
    Norm,
    Normalization,
    Residual,
    feed_forward,
    final_norm,
)


class TransformerConfig(FamilyConfig):
    """Sizes and choices of a Transformer; the defaults are the paper's base model."""

    family: Literal["transformer"] = "transformer"
    """Which family of models this is."""
    encoder_layers: int = Field(6, ge=1)
    """Layers of the encoder (N in the paper)."""
    decoder_layers: int = Field(6, ge=1)
    """Layers of the decoder."""
    d_ff: int = Field(2048, ge=1)
    """Width inside the feed-forward sublayers."""
    activation: Activation = "relu"
    """Of the feed-forward sublayers: relu (the paper), gelu or swiglu (Shazeer 2020), which has
    a third matrix; it is as large as the others at 2/3 of their d_ff."""
    heads: int = Field(8, ge=1)
    """Attention heads (h in the paper)."""
    d_k: int | None = Field(None, ge=1)
    """Width of a head's queries and keys; d_model / heads if not given."""
    d_v: int | None = Field(None, ge=1)
    """Width of a head's values; d_model / heads if not given."""
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
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """Fixed sine and cosine (the paper) or learned vectors (Table 3 row E)."""
    max_positions: int = Field(1024, ge=1)
    """Longest sentence in pieces that learned positions allow; sinusoids have no limit."""
    embeddings: Literal["shared", "target", "separate"] = "shared"
    """shared: one matrix for source, target and output (the paper, section 3.4; needs a joint
    vocabulary); target: one for target and output; separate: three matrices."""

    @model_validator(mode="after")
    def _heads_divide(self) -> TransformerConfig:
        if self.d_model % self.heads and (self.d_k is None or self.d_v is None):
            raise ValueError(
                f"d_model {self.d_model} is not divisible by heads {self.heads}; "
                "change one of them or give d_k and d_v"
            )
        return self

    @property
    def needs_joint_vocabulary(self) -> bool:
        """Whether one embedding matrix serves both sides."""
        return self.embeddings == "shared"

    @property
    def head_widths(self) -> tuple[int, int]:
        """(d_k, d_v) with the defaults filled in."""
        width = self.d_model // self.heads
        return self.d_k or width, self.d_v or width


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoder's output with every decoder layer's keys and values of it."""

    layers: list[KeysValues]
    bias: Tensor  # (batch, 1, 1, source)


@dataclass(frozen=True)
class TransformerState(State):
    """Keys and values of the target positions read so far, one entry a layer."""

    layers: list[KeysValues]
    length: int


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model, config.heads, *config.head_widths, config.attention_dropout
    )


def _residual(config: TransformerConfig) -> Residual:
    return Residual(config.d_model, config.dropout, config.norm, config.normalization)


def _feed_forward(config: TransformerConfig) -> nn.Module:
    return feed_forward(config.d_model, config.d_ff, config.feed_forward_dropout, config.activation)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = _attention(config)
        self.feed_forward = _feed_forward(config)
        self.residuals = nn.ModuleList(_residual(config) for _ in range(2))

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
        self.self_attention = _attention(config)
        self.cross_attention = _attention(config)
        self.feed_forward = _feed_forward(config)
        self.residuals = nn.ModuleList(_residual(config) for _ in range(3))

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
    ) -> tuple[Tensor, KeysValues]:
        """``(rows, target, d_model)`` to the same shape, and the past with these positions."""
        attend_self, attend_source, feed = self.residuals
        now = past

        def self_attention(x: Tensor) -> Tensor:
            nonlocal now
            now = past.extended(self.self_attention.keys_values(x))
            return self.self_attention(x, now, causal)

        x = attend_self(x, self_attention)
        x = attend_source(x, partial(self.cross_attention, memory=source, bias=source_bias))
        return feed(x, self.feed_forward), now


class Embedding(nn.Module):
    """``E[id] * sqrt(d_model) + position``, then dropout (sections 3.4, 3.5 and 5.4)."""

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, config.d_model))
        nn.init.normal_(self.weight, std=config.d_model**-0.5)
        self.positions = (
            SinusoidalPositions(config.d_model)
            if config.positions == "sinusoidal"
            else LearnedPositions(config.d_model, config.max_positions)
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """``(rows, length)`` at positions from ``start`` on, to ``(rows, length, d_model)``."""
        vectors = functional.embedding(ids, self.weight) * self.weight.shape[1] ** 0.5
        return self.dropout(vectors + self.positions(start, ids.shape[1]))


class Transformer(TranslationModel):
    """Encoder and decoder of stacked attention (Vaswani et al. 2017, Figure 1).

    Raises:
        ConfigError: embeddings are to be shared between vocabularies of different size.
    """

    def __init__(
        self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = Embedding(config, source_vocabulary)
        self.target_embedding = Embedding(config, target_vocabulary)
        if config.embeddings == "shared":
            if source_vocabulary != target_vocabulary:
                raise ConfigError(
                    f"model.embeddings: shared needs one vocabulary, found {source_vocabulary} "
                    f"source and {target_vocabulary} target pieces; set vocabulary.joint: true "
                    "or model.embeddings: target"
                )
            self.target_embedding.weight = self.source_embedding.weight
        self.output = nn.Linear(config.d_model, target_vocabulary, bias=False)
        if config.embeddings == "separate":
            nn.init.normal_(self.output.weight, std=config.d_model**-0.5)
        else:
            self.output.weight = self.target_embedding.weight
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.encoder_norm = final_norm(config.d_model, config.norm, config.normalization)
        self.decoder_norm = final_norm(config.d_model, config.norm, config.normalization)

    def encode(self, source: Tensor, source_mask: Tensor) -> TransformerMemory:
        """Read the source; see :meth:`TranslationModel.encode`."""
        x = self.source_embedding(source)
        bias = mask_bias(source_mask, x.dtype)[:, None, None, :]
        for layer in self.encoder:
            x = layer(x, bias)
        x = self.encoder_norm(x)
        layers = [cast(DecoderLayer, layer).read_source(x) for layer in self.decoder]
        return TransformerMemory(x, source_mask, layers, bias)

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
        x = self.target_embedding(target, state.length)
        causal = causal_bias(state.length, target.shape[1], x)
        layers = []
        for layer, past, source in zip(self.decoder, state.layers, memory.layers, strict=True):
            x, now = layer(x, past, causal, source, memory.bias)
            layers.append(now)
        return self.decoder_norm(x), TransformerState(layers, state.length + target.shape[1])

    def attention_weights(self, target: Tensor, memory: Memory) -> Tensor:
        """Weights over the source; see :meth:`TranslationModel.attention_weights`."""
        assert isinstance(memory, TransformerMemory)
        seen: list[Tensor] = []

        def watch(
            attention: nn.Module, inputs: tuple[Tensor, ...], options: dict[str, Any]
        ) -> None:
            assert isinstance(attention, MultiHeadAttention)
            keys, bias = options["memory"].keys, options["bias"]
            seen.append(attention_weights(attention.queries(inputs[0]), keys, bias))

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
