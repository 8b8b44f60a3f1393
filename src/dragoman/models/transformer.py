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

from dragoman.models.attention import (
    DotProduct,
    KeysValues,
    MultiHeadAttention,
    Scoring,
    mask_bias,
)
from dragoman.models.dropout import Dropout
from dragoman.models.interface import FamilyConfig, Memory, State, TranslationModel
from dragoman.models.mixture import Mixture, MixtureConfig
from dragoman.models.neighbourhood import Everywhere, Neighbourhood, Window
from dragoman.models.positions import (
    DistancePenalty,
    LearnedPositions,
    Rotation,
    SinusoidalPositions,
)
from dragoman.models.scoring import Additive, RelativePositions
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
    2022, on both sides in the encoder).  Or none."""
    window: int | None = Field(None, ge=3)
    """Self-attention sees so many positions, an odd number (section 4): centred at its own in the
    encoder, up to its own in the decoder, at a cost linear in the length; all if not given."""
    max_positions: int = Field(1024, ge=1)
    """Longest sentence in pieces that learned positions allow; the others have no limit."""
    relative_distance: int = Field(16, ge=1)
    """Distance from which on relative positions are no longer told apart (k in Shaw et al.)."""
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

    @model_validator(mode="after")
    def _combine(self) -> TransformerConfig:
        if self.attention == "additive" and self.positions in {"relative", "rotary"}:
            raise ValueError(
                f"positions: {self.positions} is made for dot products, not for attention: additive"
            )
        if self.positions == "rotary" and self.head_widths[0] % 2:
            raise ValueError(f"positions: rotary needs an even d_k, found {self.head_widths[0]}")
        if self.window is not None and self.window % 2 == 0:
            raise ValueError(f"window {self.window} has no centre; make it odd")
        return self

    @property
    def needs_joint_vocabulary(self) -> bool:
        """Whether one embedding matrix serves both sides."""
        return self.embeddings == "shared"

    @property
    def position_limit(self) -> int | None:
        """As many positions as are learned; sinusoids go on for ever."""
        return self.max_positions if self.positions == "learned" else None

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
    """Keys and values of the target positions that a next one sees, one entry a layer."""

    layers: list[KeysValues]
    length: int  # target positions read so far


def _attention(
    config: TransformerConfig, scoring: Scoring, rotation: Rotation | None = None
) -> MultiHeadAttention:
    sizes = (config.d_model, config.heads, *config.head_widths)
    return MultiHeadAttention(*sizes, config.attention_dropout, scoring=scoring, rotation=rotation)


def _scoring(config: TransformerConfig) -> Scoring:
    if config.attention == "additive":
        return Additive(config.heads, config.head_widths[0])
    return DotProduct(_scale(config))


def _scale(config: TransformerConfig) -> float | None:
    return 1.0 if config.attention == "dot" else None


def _cross_attention(config: TransformerConfig) -> MultiHeadAttention:
    return _attention(config, _scoring(config))


def _self_attention(config: TransformerConfig, causal: bool) -> MultiHeadAttention:
    """With positions, which attention over the source has not."""
    scoring = _scoring(config)
    if config.positions == "relative":
        before = config.relative_distance
        after = 0 if causal else before
        scoring = RelativePositions(*config.head_widths, before, after, _scale(config))
    rotation = Rotation(config.head_widths[0]) if config.positions == "rotary" else None
    return _attention(config, _neighbourhood(config).restricted(scoring, causal), rotation)


def _neighbourhood(config: TransformerConfig) -> Neighbourhood:
    penalty = DistancePenalty(config.heads) if config.positions == "alibi" else None
    return Everywhere(penalty) if config.window is None else Window(config.window, penalty)


def _added_positions(config: TransformerConfig) -> nn.Module | None:
    """What gives vectors to be added to embeddings, if the positions are of this kind."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.d_model)
    if config.positions == "learned":
        return LearnedPositions(config.d_model, config.max_positions)
    return None


def _residual(config: TransformerConfig) -> Residual:
    return Residual(config.d_model, config.dropout, config.norm, config.normalization)


def _feed_forward(config: TransformerConfig) -> nn.Module:
    expert = partial(_one_feed_forward, config)
    if config.mixture is None:
        return expert()
    return Mixture(config.d_model, config.mixture, expert)


def _one_feed_forward(config: TransformerConfig) -> nn.Module:
    return feed_forward(config.d_model, config.d_ff, config.feed_forward_dropout, config.activation)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = _self_attention(config, causal=False)
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
        self.self_attention = _self_attention(config, causal=True)
        self.cross_attention = _cross_attention(config)
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


class Embedding(nn.Module):
    """``E[id] * sqrt(d_model) + position``, then dropout (sections 3.4, 3.5 and 5.4)."""

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
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
        self.neighbourhood = _neighbourhood(config)
        self.source_embedding = Embedding(config, source_vocabulary)
        self.target_embedding = Embedding(config, target_vocabulary)
        if config.embeddings == "shared":
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
