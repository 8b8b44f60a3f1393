"""The Transformer, exactly as in "Attention Is All You Need" (Vaswani et al. 2017).

The defaults are the paper's base model.  The variations of the paper's Table 3 are values of
:class:`TransformerConfig`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
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
    Embedding,
    EmbeddingConfig,
    Sharing,
    output_layer,
    tie,
)
from dragoman.models.layers.global_tokens import GlobalTokens
from dragoman.models.layers.mixing import Past, Shared
from dragoman.models.layers.mixture import balancing_loss, expert_figures
from dragoman.models.layers.positions import DistanceBuckets, PositionalEncodingConfig
from dragoman.models.layers.source_tags import LanguageTagsConfig, language_tags, split_tags
from dragoman.models.layers.sublayers import (
    FeedForwardConfig,
    Residual,
    ResidualConfig,
    build_feed_forward,
    final_norm,
)
from dragoman.models.layers.transformer_mixing import (
    MixingConfig,
    build_attention,
    build_buckets,
    build_decoder_mixing,
    build_encoder_mixing,
)


class TransformerConfig(FamilyConfig):
    """Sizes and choices of a Transformer; the defaults are the paper's base model."""

    family: Literal["transformer"] = "transformer"
    """Which family of models this is."""
    encoder_layers: int = Field(6, ge=1, le=MAX_LAYERS)
    """Layers of the encoder (N in the paper)."""
    decoder_layers: int = Field(6, ge=1, le=MAX_LAYERS)
    """Layers of the decoder."""
    multi_head: Flat[MultiHeadConfig] = MultiHeadConfig()
    """Attention, over the source and within a sentence."""
    feed_forward: Flat[FeedForwardConfig] = FeedForwardConfig()
    """The last sublayer of every layer."""
    residual: Flat[ResidualConfig] = ResidualConfig()
    """Residual connection, dropout and normalisation of every sublayer."""
    positional_encoding: Flat[PositionalEncodingConfig] = PositionalEncodingConfig()
    """How layers know the position of a piece."""
    mixing: Flat[MixingConfig] = MixingConfig()
    """The first sublayer of every layer."""
    tags: Flat[LanguageTagsConfig] = LanguageTagsConfig()
    """Which side is told the target language."""
    embedding: Flat[EmbeddingConfig] = EmbeddingConfig()
    """Vectors of pieces, and scores by them."""
    source_end: bool = True
    """Whether the encoder reads the end symbol of a source; models of OpenNMT-py do not."""
    begin: Literal["symbol", "zeros"] = "symbol"
    """First input of the decoder: the embedding of the begin symbol, or zeros, as in Marian. The
    first position is added either way."""
    embeddings: Sharing = "shared"
    """Matrices of embeddings. shared: one for source, target and output (the paper, section 3.4;
    needs a joint vocabulary); target: one for target and output; inputs: one for source and target
    (joint vocabulary); separate: three."""

    if TYPE_CHECKING:  # keys as in a recipe, including those of sections

        def __init__(self, **values: Any) -> None:
            pass

    def conflicts(self) -> Iterator[str]:
        """Yield incompatible settings of sections."""
        heads, encoding = self.multi_head, self.positional_encoding
        yield from heads.conflicts_with(self.d_model, encoding)
        yield from encoding.conflicts_with(self.d_model)
        yield from self.mixing.conflicts_with(heads, encoding)
        told = self.tags.language_tags
        if self.begin == "zeros" and told == "decoder":
            yield "begin: zeros does not go with language_tags: decoder, which begins with a tag"
        sinusoidal = encoding.positions == "sinusoidal"
        if told == "decoder_second" and sinusoidal and not encoding.first_position:
            yield (
                "language_tags: decoder_second takes the tag out of the source, whose positions "
                "begin one earlier; set first_position: 1, or 2 as in fairseq"
            )

    @property
    def encoder_width(self) -> int:
        """Width of every layer."""
        return self.d_model

    @property
    def side_positions(self) -> tuple[PositionalEncodingConfig, PositionalEncodingConfig]:
        """Positions of source and target."""
        encoding = self.positional_encoding
        told_second = self.tags.language_tags == "decoder_second"
        return encoding.beside_a_second_tag() if told_second else (encoding, encoding)

    @property
    def position_limit(self) -> int | None:
        """Number of learned positions; None if they are not learned."""
        return self.positional_encoding.limit

    @property
    def attention_layers(self) -> int:
        """All layers of the decoder."""
        return self.decoder_layers

    @property
    def has_separate_layers(self) -> bool:
        """True: the layers of encoder and decoder are separate."""
        return True


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoder's output, and every decoder layer's keys and values of it."""

    layers: list[KeysValues]  # (batch, heads, source, d_k or d_v)
    bias: Tensor  # (batch, 1, 1, source)
    begin: Tensor | None = None  # (batch,): first symbol of each target, if not the begin symbol


@dataclass(frozen=True)
class TransformerState(State):
    """The part of the past target positions that each layer keeps for later ones."""

    layers: list[Past]
    length: int  # target positions read so far


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig, buckets: DistanceBuckets | None = None) -> None:
        super().__init__()
        d = config.d_model
        self.attention = build_encoder_mixing(
            d, config.mixing, config.multi_head, config.positional_encoding, buckets=buckets
        )
        self.feed_forward = build_feed_forward(d, config.feed_forward)
        self.residuals = nn.ModuleList(Residual(d, config.residual) for _ in range(2))

    def forward(self, x: Tensor, shared: Shared) -> Tensor:
        """``(batch, source, d_model)`` to the same shape; ``shared`` is from :attr:`attention`."""
        attend_self, feed = self.residuals
        return feed(attend_self(x, partial(self.attention.mix, shared=shared)), self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the source, then feed-forward (section 3.1)."""

    entrances = ("read_source",)

    def __init__(self, config: TransformerConfig, buckets: DistanceBuckets | None = None) -> None:
        super().__init__()
        d, heads, feed_forward = config.d_model, config.multi_head, config.feed_forward
        self.self_attention = build_decoder_mixing(
            d, config.mixing, heads, config.positional_encoding, feed_forward, buckets=buckets
        )
        self.cross_attention = build_attention(d, heads)
        self.feed_forward = build_feed_forward(d, feed_forward)
        self.residuals = nn.ModuleList(Residual(d, config.residual) for _ in range(3))

    def source_attention(self) -> Iterator[nn.Parameter]:
        """The weights of attention over the source, and of a normalisation of its queries alone."""
        yield from self.cross_attention.parameters()
        residual = cast(Residual, self.residuals[1])
        if residual.pre:
            yield from residual.norm.parameters()

    def read_source(self, encoded: Tensor) -> KeysValues:
        """This layer's keys and values of the source, from ``(batch, source, d_model)``."""
        return self.cross_attention.keys_values(encoded)

    def forward(
        self,
        x: Tensor,
        past: Past,
        shared: Shared | None,
        source: KeysValues,
        source_bias: Tensor,
        *,
        start: int,
        seen: list[Tensor] | None = None,
    ) -> tuple[Tensor, Past]:
        """Read further target positions.

        Args:
            x: ``(rows, target, d_model)`` from ``start`` on.
            past: of this layer's :attr:`self_attention`.
            shared: of any layer's :attr:`self_attention`.
            source: from :meth:`read_source`.
            source_bias: hides padding, ``(batch, 1, 1, source)``.
            start: number of target positions read before.
            seen: a list to which the weights over the source are appended,
                ``(batch, heads, beam * target, source)``.

        Returns:
            ``(rows, target, d_model)``, and the past kept for later positions.
        """
        attend_self, attend_source, feed = self.residuals
        now = past

        def self_attention(x: Tensor) -> Tensor:
            nonlocal now
            mixed, now = self.self_attention.read(x, past, start, shared)
            return mixed

        def source_attention(x: Tensor) -> Tensor:
            if seen is not None:
                seen.append(self.cross_attention.weights(x, source, source_bias))
            return self.cross_attention(x, source, source_bias)

        x = attend_source(attend_self(x, self_attention), source_attention)
        return feed(x, self.feed_forward), now


class Transformer(ProjectedModel):
    """Encoder and decoder of stacked attention (Vaswani et al. 2017, Figure 1)."""

    Config = TransformerConfig
    config: TransformerConfig
    parts: ClassVar[Mapping[str, Part]] = {
        **ProjectedModel.parts,
        "encoder_norm": "encoder",
        "decoder_norm": "decoder",
        "encoder_buckets": "encoder",
        "decoder_buckets": "decoder",
    }

    def __init__(
        self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        positions, choices = config.side_positions, (config.residual, config.embedding)
        self.source_embedding = Embedding(source_vocabulary, config.d_model, positions[0], *choices)
        self.target_embedding = Embedding(
            target_vocabulary,
            config.d_model,
            positions[1],
            *choices,
            begins_empty=config.begin == "zeros",
        )
        self.output = output_layer(
            config.d_model, target_vocabulary, config.embedding, config.embeddings
        )
        tie(config.embeddings, self.source_embedding, self.target_embedding, self.output)
        self.language_tags = language_tags(config.tags, source_vocabulary)
        mixing, heads = config.mixing, config.multi_head
        sizes = config.d_model, heads, config.positional_encoding
        self.encoder_buckets = build_buckets(*sizes, mixing.encoder_mixing, causal=False)
        self.decoder_buckets = build_buckets(*sizes, mixing.decoder_mixing, causal=True)
        self.encoder = nn.ModuleList(
            EncoderLayer(config, self.encoder_buckets) for _ in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(config, self.decoder_buckets) for _ in range(config.decoder_layers)
        )
        self.global_tokens = (
            GlobalTokens(heads.global_positions, heads.global_tags) if heads.has_globals else None
        )
        self.encoder_norm = final_norm(config.d_model, config.residual)
        self.decoder_norm = final_norm(config.d_model, config.residual)

    def encoder_states(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """Outputs of the last layer."""
        source, source_mask, _ = split_tags(self.language_tags, source, source_mask)
        return self._read(source, self.seen(source_mask))

    def seen(self, source_mask: Tensor) -> Tensor:
        """The mask of positions read; without ``source_end``, the end symbol counts as padding.

        The first position is read even if it is the end symbol, because attention needs at least
        one.
        """
        if self.config.source_end:
            return source_mask
        later = functional.pad(source_mask[:, 2:], (0, 1), value=False)  # of positions 1, 2 ...
        return torch.cat([source_mask[:, :1], later], dim=1)[:, : source_mask.shape[1]]

    def _read(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """The encoder's states for a source without tags for the decoder."""
        x = self.source_embedding(source)  # (batch, source, d_model)
        marked = None
        if self.global_tokens is not None:
            marked = self.global_tokens(source, source_mask)
        shared = cast(EncoderLayer, self.encoder[0]).attention.shared(source_mask, x, marked)
        for layer in self.encoder:
            x = layer(x, shared)
        return cast(Tensor, self.encoder_norm(x))

    @override
    def encode(self, source: Tensor, source_mask: Tensor) -> TransformerMemory:
        source, source_mask, begin = split_tags(self.language_tags, source, source_mask)
        source_mask = self.seen(source_mask)
        x = self._read(source, source_mask)
        layers = [cast(DecoderLayer, layer).read_source(x) for layer in self.decoder]
        seen = mask_bias(source_mask, x.dtype)[:, None, None, :]  # (batch, 1, 1, source)
        return TransformerMemory(x, source_mask, layers, seen, begin)

    @override
    def start(self, memory: Memory, beam: int = 1) -> TransformerState:
        rows = memory.hidden.shape[0] * beam
        empty = cast(DecoderLayer, self.decoder[0]).self_attention.past(rows, memory.hidden)
        state = TransformerState([empty] * len(self.decoder), 0)
        if self.language_tags is None or not self.language_tags.second:
            return state
        begin, silent = self.language_tags.first_input(rows), [None] * len(self.decoder)
        return self._follow(begin, memory, state, silent)[1]

    @override
    def decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, TransformerState]:
        return self._decode(target, memory, state, [None] * len(self.decoder))

    def _decode(
        self, target: Tensor, memory: Memory, state: State, seen: list[list[Tensor] | None]
    ) -> tuple[Tensor, TransformerState]:
        """Like :meth:`decode`, but append each layer's weights to its list in ``seen``, if any."""
        assert isinstance(memory, TransformerMemory)
        if self.language_tags is not None and memory.begin is not None:
            target = self.language_tags.begun(target, memory.begin)
        return self._follow(target, memory, state, seen)

    def _follow(
        self,
        target: Tensor,
        memory: Memory,
        state: State,
        seen: Sequence[list[Tensor] | None],
    ) -> tuple[Tensor, TransformerState]:
        """Like :meth:`_decode`, for a target whose begin symbol is no tag."""
        assert isinstance(memory, TransformerMemory)
        assert isinstance(state, TransformerState)
        rows, length = target.shape
        x = self.target_embedding(target, state.length)  # (rows, target, d_model)
        first = cast(DecoderLayer, self.decoder[0])
        shared = first.self_attention.shared(rows, state.length, length, x)
        layers = []
        for layer, past, source, looks in zip(
            self.decoder, state.layers, memory.layers, seen, strict=True
        ):
            x, now = layer(x, past, shared, source, memory.bias, start=state.length, seen=looks)
            layers.append(now)
        return self.decoder_norm(x), TransformerState(layers, state.length + length)

    def separate_layers(self) -> Iterator[nn.Module]:
        """The layers of encoder and decoder."""
        yield from (*self.encoder, *self.decoder)

    def source_attention(self) -> Iterator[nn.Parameter]:
        """The weights of all layers."""
        for layer in self.decoder:
            yield from cast(DecoderLayer, layer).source_attention()

    def auxiliary_loss(self, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """Sum over all mixtures of experts."""
        sides = ((self.encoder, source_mask), (self.decoder, target_mask))
        return balancing_loss((layer.feed_forward, mask) for side, mask in sides for layer in side)

    def figures(self) -> dict[str, float]:
        """Evenness of the use of experts."""
        return expert_figures(self)

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Weights of the chosen layers."""
        looks: list[Tensor] = []
        chosen = [looks if layer in {None, depth} else None for depth in range(len(self.decoder))]
        hidden, _ = self._decode(target, memory, self.start(memory), chosen)
        return hidden, torch.stack(looks, dim=1)  # (batch, layers, heads, target, source)
