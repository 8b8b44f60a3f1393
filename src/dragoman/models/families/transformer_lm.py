"""A Transformer without an encoder: a language model, or a translator that reads its source first.

The decoder without an encoder, alone or after a source, is from Liu et al. 2018, "Generating
Wikipedia by Summarizing Long Sequences" (T-D, section 4.2.3).  A source whose positions see one
another is from Raffel et al. 2020, section 3.2.1.

The language model is not GPT (Radford et al. 2018, "Improving Language Understanding by Generative
Pre-Training", section 4.1), although ``layers: 12``, ``d_model: 768``, ``d_ff: 3072``,
``heads: 12``, ``activation: gelu_tanh``, ``positions: learned``, ``max_positions: 512``,
``attention_dropout: 0.1``, ``attention_bias: true`` and ``scale_embeddings: false`` give it GPT's
sizes and functions.  Two differences remain.  All of GPT's initial weights are normal with a
standard deviation of 0.02.  GPT reads passages of 512 pieces, whereas every line is read separately
here.

The papers put source and target into one sequence, in which the sentences of a batch begin their
targets at different places.  Here each side counts its positions from its own beginning, and a
learned vector added to source embeddings distinguishes the sides, as in the translation language
model of Lample and Conneau 2019.  The index of a target position therefore depends only on the
target.  As in all families, the loss is that of the target; T-D also learns to predict the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from dragoman.core.sections import Flat
from dragoman.models.interface import (
    MAX_LAYERS,
    FamilyConfig,
    Memory,
    Part,
    ProjectedModel,
    State,
)
from dragoman.models.layers.attention import KeysValues, MultiHeadConfig, mask_bias
from dragoman.models.layers.embeddings import (
    SIDES_TIED,
    Embedding,
    EmbeddingConfig,
    Sharing,
    output_layer,
    tie,
)
from dragoman.models.layers.mixture import balancing_loss, expert_figures
from dragoman.models.layers.positions import DistanceBuckets, PositionalEncodingConfig
from dragoman.models.layers.self_attention import DecoderSelfAttention, PastPositions
from dragoman.models.layers.sublayers import (
    FeedForwardConfig,
    Residual,
    ResidualConfig,
    build_feed_forward,
    final_norm,
)
from dragoman.models.layers.transformer_mixing import (
    build_buckets,
    build_neighbourhood,
    build_self_attention,
)


class TransformerLMConfig(FamilyConfig):
    """Sizes and choices of a Transformer without an encoder; a language model by default."""

    family: Literal["transformer_lm"] = "transformer_lm"
    """Which family of models this is."""
    layers: int = Field(6, ge=1, le=MAX_LAYERS)
    """Number of layers, each of masked self-attention and feed-forward."""
    source: Literal["none", "causal", "full"] = "none"
    """none: a language model, which reads no source. Otherwise a translator, which reads the source
    before the target; each source position sees earlier ones (causal, Liu et al. 2018) or all
    (full, Raffel et al. 2020). A translator needs sinusoidal, learned, rotary or no positions and
    dot-product attention, without window, sparsity or mixture."""
    multi_head: Flat[MultiHeadConfig] = MultiHeadConfig()
    """Attention."""
    feed_forward: Flat[FeedForwardConfig] = FeedForwardConfig()
    """The last sublayer of every layer."""
    residual: Flat[ResidualConfig] = ResidualConfig()
    """Residual connection, dropout and normalisation of every sublayer."""
    positional_encoding: Flat[PositionalEncodingConfig] = PositionalEncodingConfig()
    """How layers know the position of a piece."""
    embedding: Flat[EmbeddingConfig] = EmbeddingConfig()
    """Vectors of pieces, and scores by them."""
    embeddings: Sharing = "target"
    """Matrices of embeddings. target: one for target and output; separate: one each for target,
    output and, if it is read, the source; shared: one for all, including the source (needs a joint
    vocabulary)."""

    if TYPE_CHECKING:  # keys as in a recipe, including those of sections

        def __init__(self, **values: Any) -> None:
            pass

    def conflicts(self) -> Iterator[str]:
        """Yield incompatible settings, and settings that need, or exclude, a source."""
        heads, positions = self.multi_head, self.positional_encoding.positions
        yield from heads.conflicts_with(self.d_model, self.positional_encoding)
        yield from self.positional_encoding.conflicts_with(self.d_model)
        yield from heads.unread("without an encoder", "global_positions", "global_tags")
        if self.source == "none":
            if self.embeddings in SIDES_TIED:
                own = f"embeddings: {self.embeddings}"
                yield f"{own} is for a model that reads a source; set it to target"
            return
        unfit = {
            f"attention: {heads.attention}": heads.attention == "additive",
            f"positions: {positions}": positions in {"relative", "buckets", "alibi"},
            f"window: {heads.window}": heads.window is not None,
            f"sparsity: {heads.sparsity}": heads.sparsity != "none",
            "mixture": self.feed_forward.mixture is not None,
        }
        for choice, is_unfit in unfit.items():
            if is_unfit:
                yield f"{choice} does not go with source: {self.source}"

    @property
    def attention_layers(self) -> int:
        """All layers if there is a source, otherwise none."""
        return self.layers if self.reads_source else 0

    @property
    def architecture(self) -> str:
        """A language model is the decoder of a Transformer, without attention over a source."""
        return self.family if self.reads_source else "transformer"

    def common_settings(self) -> dict[str, Any]:
        """The settings of a Transformer's decoder."""
        values = self.model_dump()
        values["decoder_layers"] = values.pop("layers")
        return values | {"decoder_mixing": "self_attention"}

    @property
    def reads_source(self) -> bool:
        """Whether the model is a translator."""
        return self.source != "none"

    @property
    def has_separate_layers(self) -> bool:
        """True: all layers are called as a whole, for the source as well."""
        return True

    @property
    def position_limit(self) -> int | None:
        """Number of learned positions; None if they are not learned."""
        return self.positional_encoding.limit


@dataclass(frozen=True)
class TransformerLMMemory(Memory):
    """Every layer's keys and values of the source; none for a language model."""

    layers: list[KeysValues]
    bias: Tensor  # (batch, 1, 1, source)


@dataclass(frozen=True)
class TransformerLMState(State):
    """Keys and values of the target positions that later ones can see, one entry per layer."""

    layers: list[PastPositions]
    length: int  # target positions read so far


@dataclass(frozen=True)
class Prefix:
    """The source as the target positions of a layer see it."""

    source: KeysValues  # of rows / beam sentences
    bias: Tensor  # (sentences, 1, 1, source)


class Layer(nn.Module):
    """Masked self-attention, then feed-forward."""

    def __init__(self, config: TransformerLMConfig, buckets: DistanceBuckets | None) -> None:
        super().__init__()
        d = config.d_model
        self.attention = build_self_attention(
            d, config.multi_head, config.positional_encoding, buckets, causal=True
        )
        self.feed_forward = build_feed_forward(d, config.feed_forward)
        self.residuals = nn.ModuleList(Residual(d, config.residual) for _ in range(2))

    def forward(
        self,
        x: Tensor,
        past: PastPositions,
        bias: Tensor | None,
        prefix: Prefix | None,
        *,
        start: int,
    ) -> tuple[Tensor, PastPositions, Tensor | None]:
        """Read positions from ``start`` on, ``(rows, length, d_model)``.

        Returns:
            The same shape, the new past, and the weights on the prefix, if given,
            ``(rows, heads, length, source)``.
        """
        attend, feed = self.residuals
        now, weights = past, None

        def self_attention(x: Tensor) -> Tensor:
            nonlocal now, weights
            if prefix is None:
                seen, now = self.attention.read(x, past, start, bias)
                return seen
            own = past.extended(self.attention.keys_values(x, start))
            seen, weights = attend_after(prefix, self.attention, x, own, bias, start=start)
            now = PastPositions(own)
            return seen

        return feed(attend(x, self_attention), self.feed_forward), now, weights


def _embedding(config: TransformerLMConfig, pieces: int) -> Embedding:
    positions, residual = config.positional_encoding, config.residual
    return Embedding(pieces, config.d_model, positions, residual, config.embedding)


def attend_after(
    prefix: Prefix,
    attention: DecoderSelfAttention,
    x: Tensor,
    own: KeysValues,
    bias: Tensor | None,
    *,
    start: int,
) -> tuple[Tensor, Tensor]:
    """One softmax over the source and a row's own positions, without copying the source per beam.

    Args:
        prefix: the source, of ``rows / beam`` sentences.
        attention: by dot products; it may rotate queries and keys.
        x: ``(rows, length, d_model)`` from ``start`` on.
        own: keys and values of the rows' positions, up to the last of ``x``.
        bias: hides later positions of ``own``, broadcastable to ``(rows, heads, length, keys)``.
        start: position of the first vector of ``x``.

    Returns:
        ``(rows, length, d_model)``, and the weights on the source before dropout,
        ``(rows, heads, length, source)``.
    """
    scale = attention.scale or attention.d_k**-0.5
    query = attention.queries(x, start) * scale  # (rows, heads, length, d_k)
    keys, values = prefix.source.keys, prefix.source.values
    # (sentences, heads, beam * length, source)
    to_source = _by_sentence(query, len(keys)) @ keys.transpose(-1, -2) + prefix.bias
    to_own = query @ own.keys.transpose(-1, -2)  # (rows, heads, length, keys)
    to_own = to_own if bias is None else to_own + bias
    # (rows, heads, length, source + keys)
    weights = torch.cat([_by_row(to_source, len(x)), to_own], dim=-1).softmax(-1)
    source = keys.shape[2]
    dropped = attention.dropout(weights)
    of_source, of_own = dropped[..., :source], dropped[..., source:]
    # (rows, heads, length, d_v)
    context = _by_row(_by_sentence(of_source, len(keys)) @ values, len(x)) + of_own @ own.values
    return attention.output(context.transpose(1, 2).flatten(2)), weights[..., :source]


def _by_sentence(x: Tensor, sentences: int) -> Tensor:
    """``(rows, heads, length, width)`` to ``(sentences, heads, beam * length, width)``."""
    return x.unflatten(0, (sentences, -1)).transpose(1, 2).flatten(2, 3)


def _by_row(x: Tensor, rows: int) -> Tensor:
    """``(sentences, heads, beam * length, width)`` to ``(rows, heads, length, width)``."""
    beam = rows // len(x)
    return x.unflatten(2, (beam, -1)).transpose(1, 2).flatten(0, 1)


class TransformerLM(ProjectedModel):
    """Stacked masked self-attention over the target, after the source if it reads one."""

    Config = TransformerLMConfig
    config: TransformerLMConfig
    parts: ClassVar[Mapping[str, Part]] = {
        **ProjectedModel.parts,
        "source_side": "embeddings",
        "layers": "decoder",
        "norm": "decoder",
        "buckets": "decoder",
    }

    def __init__(
        self, config: TransformerLMConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        heads, encoding = config.multi_head, config.positional_encoding
        self.buckets = build_buckets(config.d_model, heads, encoding, causal=True)
        self.neighbourhood = build_neighbourhood(heads, encoding, self.buckets)
        self.target_embedding = _embedding(config, target_vocabulary)
        self.output = output_layer(
            config.d_model, target_vocabulary, config.embedding, config.embeddings
        )
        self.source_embedding = (
            _embedding(config, source_vocabulary) if config.reads_source else None
        )
        if config.reads_source:
            self.source_side = nn.Parameter(torch.empty(config.d_model))
            nn.init.normal_(self.source_side, std=config.d_model**-0.5)
        tie(config.embeddings, self.source_embedding, self.target_embedding, self.output)
        self.layers = nn.ModuleList(Layer(config, self.buckets) for _ in range(config.layers))
        self.norm = final_norm(config.d_model, config.residual)

    def common_name(self, name: str) -> str:
        """Name of the weight in a Transformer's decoder, whose layers have one more residual."""
        if name.startswith(("norm.", "buckets.")):
            return f"decoder_{name}"
        if not name.startswith("layers."):
            return name
        _, layer, rest = name.split(".", 2)
        if rest.startswith("attention."):
            rest = f"self_{rest}"
        elif rest.startswith("residuals.1."):
            rest = rest.replace("1", "2", 1)
        return f"decoder.{layer}.{rest}"

    def encode(self, source: Tensor, source_mask: Tensor) -> TransformerLMMemory:
        """Read the source, or only count sentences."""
        weight = self.target_embedding.weight
        bias = mask_bias(source_mask, weight.dtype)[:, None, None, :]  # (batch, 1, 1, source)
        if self.source_embedding is None:
            return TransformerLMMemory(weight.new_empty(*source.shape, 0), source_mask, [], bias)
        x = self.source_embedding(source) + self.source_side
        rows, length = source.shape
        # Padding is at the end, where no earlier position sees it.
        seen = (
            self.neighbourhood.decoder_bias(rows, 0, length, x)
            if self.config.source == "causal"
            else self.neighbourhood.encoder_bias(source_mask, x)
        )
        layers = []
        for layer in self.layers:
            x, now, _ = layer(x, self._nothing(rows, x), seen, None, start=0)
            layers.append(now.known)
        return TransformerLMMemory(x, source_mask, layers, bias)

    @override
    def start(self, memory: Memory, beam: int = 1) -> TransformerLMState:
        empty = self._nothing(len(memory.hidden) * beam, memory.hidden)
        return TransformerLMState([empty] * len(self.layers), 0)

    def _nothing(self, rows: int, like: Tensor) -> PastPositions:
        """The empty past: keys and values of no positions."""
        return cast(Layer, self.layers[0]).attention.past(rows, like)

    @override
    def decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, TransformerLMState]:
        hidden, state, _ = self._decode(target, memory, state)
        return hidden, state

    def _decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, TransformerLMState, list[Tensor]]:
        assert isinstance(memory, TransformerLMMemory)
        assert isinstance(state, TransformerLMState)
        rows, length = target.shape
        x = self.target_embedding(target, state.length)
        causal = self.neighbourhood.decoder_bias(rows, state.length, length, x)
        prefixes: list[Prefix | None] = [None] * len(self.layers)
        if self.config.reads_source:
            prefixes = [Prefix(source, memory.bias) for source in memory.layers]
        layers, weights = [], []
        for layer, past, prefix in zip(self.layers, state.layers, prefixes, strict=True):
            x, now, on_source = layer(x, past, causal, prefix, start=state.length)
            layers.append(now)
            weights.append(on_source)
        return self.norm(x), TransformerLMState(layers, state.length + length), weights

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Weights over the source, scaled to sum to one without the target's own positions."""
        if self.source_embedding is None:
            return super().decode_attending(target, memory, layer)
        hidden, _, weights = self._decode(target, memory, self.start(memory))
        # (batch, layers, heads, target, source)
        on_source = torch.stack(weights if layer is None else [weights[layer]], dim=1)
        return hidden, on_source / on_source.sum(-1, keepdim=True)

    def separate_layers(self) -> Iterator[nn.Module]:
        """All layers."""
        yield from self.layers

    def auxiliary_loss(self, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """Sum over all mixtures of experts."""
        return balancing_loss((layer.feed_forward, target_mask) for layer in self.layers)

    def figures(self) -> dict[str, float]:
        """Evenness of the use of experts."""
        return expert_figures(self)
