"""Recurrent encoders and decoders with attention, the systems before the Transformer.

The sources are

- Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation".  Their
  model is the default, except that theirs reads the source from its end (``source: reversed``).
- Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate".
- Wu et al. 2016, "Google's Neural Machine Translation System" (GNMT).
- Zhou et al. 2016, "Deep Recurrent Models with Fast-Forward Connections for Neural Machine
  Translation" (Deep-Att).

Attention always follows Luong's order: the present output of a layer is the query.  Bahdanau et
al. and GNMT query with the output of the previous position.  From Bahdanau et al. come the
additive score, the bidirectional encoder and the decoder's first state, but neither the context as
an input of the cell nor the maxout layer before the softmax.  Initial weights are uniform, like
Luong's; those of Bahdanau et al. are normal and orthogonal (appendix B.1).

From Deep-Att come the fast-forward connections and the interleaved encoder.  Its LSTM has
peepholes, and only its bottom layer reads the context.  With ``attention_from: bottom`` and input
feeding, the bottom layer here reads the context a position later, and the layers above read it as
well.

The averaging encoder of Ranzato et al. 2016, "Sequence Level Training with Recurrent Neural
Networks", may replace the recurrent one.
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
from dragoman.models.layers.attention import mask_bias
from dragoman.models.layers.convolution import OddWidth
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.embeddings import Sharing, tie
from dragoman.models.layers.recurrence import (
    RESIDUAL_FROM,
    CellConfig,
    LayerState,
    Order,
    RecurrentStack,
    initialise_uniformly,
    steady_fast_forward,
)
from dragoman.models.layers.recurrent_decoders import (
    AttendedMemory,
    BottomAttention,
    Decoder,
    DecoderChoices,
    RecurrentState,
    TopAttention,
)
from dragoman.models.layers.recurrent_sources import (
    AveragedEmbeddings,
    FirstState,
    InterleavedEncoder,
    RecurrentEncoder,
)
from dragoman.models.layers.source_tags import LanguageTagsConfig, language_tags, split_tags

_WAYS: tuple[Order, Order] = ("forward", "backward")


class RecurrentConfig(FamilyConfig):
    """Sizes and choices of a recurrent model; defaults from Luong et al. 2015, except source."""

    family: Literal["recurrent"] = "recurrent"
    """Which family of models this is."""
    d_model: int = Field(1000, ge=1)
    """Width of embeddings, and units of each layer in each direction."""
    encoder_layers: int = Field(4, ge=1, le=MAX_LAYERS)
    """Layers of the encoder."""
    decoder_layers: int = Field(4, ge=1, le=MAX_LAYERS)
    """Layers of the decoder."""
    encoder: Literal["recurrent", "averaging"] = "recurrent"
    """Recurrent layers (the papers), or attention over embeddings with learned positions, smoothed
    by a window (averaging, Ranzato et al. 2016). The averaging encoder has no layers, so
    encoder_layers, bidirectional and source do not apply; the decoder starts from zeros."""
    averaging_window: OddWidth = Field(5, ge=1, le=1000)
    """Number of positions that the averaging encoder averages; odd."""
    max_positions: int = Field(1024, ge=1)
    """Maximum length of source and target in pieces with the averaging encoder, whose positions are
    learned."""
    source: Literal["forward", "reversed"] = "forward"
    """Order in which the source is read: forward, or reversed, from its last word to its first with
    the end symbol last (Sutskever et al. 2014, section 3.3), as in all models with attention of
    Luong et al. 2015 (section 4.2). Attention weights are in the source's own order either way."""
    recurrence: Flat[CellConfig] = CellConfig()
    """What a layer computes at each position."""
    bidirectional: Literal["none", "first", "all", "alternating", "interleaved"] = "none"
    """Encoder layers that read in both directions: none (Luong), the first (GNMT, section 3.2) or
    all (Bahdanau), whose output is then twice as wide. Or each layer reads in one direction:
    alternating, beginning forward; or interleaved, in two such columns that begin in opposite
    directions and are concatenated at the top (Zhou et al. 2016, section 3.2; twice encoder_layers
    in all). The encoder's final states initialise the decoder: layer by layer if both have as many
    layers and all read forward (Luong); otherwise by `tanh(W_s h)` of the top layer, of its
    backward direction if it has one (Bahdanau, A.2.2)."""
    attention: Literal["additive", "dot", "general"] = "general"
    """How decoder and encoder outputs are compared: additive, by a hidden layer (Bahdanau, A.1.2);
    dot, by a plain product, which needs encoder outputs of width d_model; or general, by a product
    with a matrix (Luong, equation 8)."""
    attention_from: Literal["top", "bottom"] = "top"
    """Decoder layer that attends to the source: top, whose output is combined with its context
    vector (Luong, equation 5); or bottom, whose context vector all layers above receive (GNMT,
    section 3)."""
    input_feeding: bool = True
    """Whether a position also reads the attentional output of the previous one (Luong, section
    3.3); positions are then computed one after another. With attention_from: bottom, the context
    vector is read instead."""
    residual: bool = False
    """Whether a layer's input is added to its output, from the third layer on (GNMT, section
    3.1)."""
    fast_forward: bool = False
    """Whether a layer also reads half of the linear projection that the layer below computes from
    its input, before gates and recurrence: a path without non-linearities (Zhou et al. 2016,
    section 3.1). For LSTM layers of one direction; in place of residual."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout on embeddings, between layers and on the output, but not between the positions of a
    layer (Zaremba et al. 2014)."""
    initial_range: float | None = Field(None, gt=0, le=100)
    """Initial weights are uniform between minus and plus this value; GNMT has 0.04 (section 8.3).
    By default `0.1 sqrt(1000 / d_model)`, as Luong has 0.1 for 1,000 units (section 4.1), and
    smaller for weights that read fast-forward connections."""
    tags: Flat[LanguageTagsConfig] = LanguageTagsConfig()
    """Which side is told the target language."""
    embeddings: Sharing = "separate"
    """Matrices of embeddings. separate: three, for source, target and output (the papers); target:
    one for target and output; shared: one for all (needs a joint vocabulary)."""

    if TYPE_CHECKING:  # keys as in a recipe, including those of sections

        def __init__(self, **values: Any) -> None:
            pass

    def conflicts(self) -> Iterator[str]:
        """Yield layers that other choices need, and settings that the encoder does not read."""
        yield from self.recurrence.conflicts_with(self.d_model)
        yield from self._fast_forward_conflicts()
        if self.attention == "dot" and self.encoder_width != self.d_model:
            yield (
                "attention dot needs a top encoder layer that reads in one direction; set "
                "bidirectional to none, or attention to general or additive"
            )
        if self.tags.language_tags == "decoder_second":
            yield "language_tags: decoder_second is of Transformers alone; choose decoder"
        if self.attention_from == "bottom" and self.decoder_layers == 1:
            yield "attention_from bottom needs decoder_layers of 2 or more"
        if self.residual and max(self._layers) <= RESIDUAL_FROM:
            yield "residual begins at the third layer and needs 3 layers or more"
        unread = {
            "recurrent": ("averaging_window", "max_positions"),
            "averaging": ("encoder_layers", "bidirectional", "source"),
        }
        yield from self.unread(f"with encoder: {self.encoder}", *unread[self.encoder])

    def _fast_forward_conflicts(self) -> Iterator[str]:
        if not self.fast_forward:
            return
        if self.recurrence.cell != "lstm":
            yield f"fast_forward needs cell: lstm, not {self.recurrence.cell}"
        if self.bidirectional in {"first", "all"}:
            yield (
                "fast_forward needs encoder layers of one direction; set bidirectional to "
                "interleaved, alternating or none"
            )
        if self.residual:
            yield "fast_forward takes the place of residual; set one of them to false"
        if max(self._layers) == 1:
            yield "fast_forward connects layers and needs 2 or more"

    @property
    def _layers(self) -> tuple[int, ...]:
        averaging = self.encoder == "averaging"
        return (self.decoder_layers,) if averaging else (self.encoder_layers, self.decoder_layers)

    @property
    def position_limit(self) -> int | None:
        """Number of the averaging encoder's learned positions; None for a recurrent encoder."""
        return self.max_positions if self.encoder == "averaging" else None

    @property
    def attention_layers(self) -> int:
        """One: the top or the bottom layer."""
        return 1

    @property
    def encoder_columns(self) -> list[list[Order]]:
        """The order in which each layer of the encoder reads, bottom first, by column."""
        layers = range(self.encoder_layers)
        if self.bidirectional == "interleaved":
            return [[_WAYS[(depth + first) % 2] for depth in layers] for first in range(2)]
        if self.bidirectional == "alternating":
            return [[_WAYS[depth % 2] for depth in layers]]
        both = {"first": 1, "all": self.encoder_layers}.get(self.bidirectional, 0)
        return [["both" if depth < both else "forward" for depth in layers]]

    @property
    def encoder_width(self) -> int:
        """Width of the encoder's outputs."""
        if self.encoder == "averaging":
            return self.d_model
        columns = self.encoder_columns
        return self.d_model * (len(columns) + (columns[0][-1] == "both"))

    @property
    def copies_state(self) -> bool:
        """Whether each decoder layer starts from the final state of its encoder layer."""
        if self.encoder == "averaging":
            return True  # zeros
        return self.bidirectional == "none" and self.encoder_layers == self.decoder_layers


@dataclass(frozen=True)
class RecurrentMemory(AttendedMemory):
    """The encoded source, and the initial state of each decoder layer."""

    first: list[LayerState]  # tensors (batch, d_model)
    begin: Tensor | None = None  # (batch,): first symbol of each target, if not the begin symbol


def _encoder(
    config: RecurrentConfig,
) -> RecurrentEncoder | InterleavedEncoder | AveragedEmbeddings:
    if config.encoder == "averaging":
        return AveragedEmbeddings(
            config.d_model,
            config.averaging_window,
            config.max_positions,
            config.dropout,
            layers=config.decoder_layers,
            parts=config.recurrence.state_parts,
        )
    reading: dict[str, Any] = {
        "residual": config.residual,
        "fast_forward": config.fast_forward,
        "from_end": config.source == "reversed",
    }
    cell, d_model, columns = config.recurrence, config.d_model, config.encoder_columns
    if len(columns) > 1:
        return InterleavedEncoder(cell, d_model, columns, config.dropout, **reading)
    return RecurrentEncoder(cell, d_model, columns[0], config.dropout, **reading)


class Recurrent(ProjectedModel):
    """Decoder of stacked recurrent layers with attention, and a recurrent or averaging encoder."""

    Config = RecurrentConfig
    config: RecurrentConfig
    parts: ClassVar[Mapping[str, Part]] = {**ProjectedModel.parts, "first_state": "decoder"}

    def __init__(
        self, config: RecurrentConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        self.source_embedding = nn.Embedding(source_vocabulary, config.d_model)
        self.target_embedding = nn.Embedding(target_vocabulary, config.d_model)
        self.output = nn.Linear(config.d_model, target_vocabulary, bias=False)
        self.dropout = Dropout(config.dropout)
        self.language_tags = language_tags(config.tags, source_vocabulary)
        self.encoder = _encoder(config)
        self.first_state = (
            nn.Identity()
            if config.copies_state
            else FirstState(config.d_model, config.decoder_layers)
        )
        attended_from = TopAttention if config.attention_from == "top" else BottomAttention
        self.decoder: Decoder = attended_from(
            DecoderChoices(
                config.recurrence,
                config.d_model,
                config.decoder_layers,
                config.encoder_width,
                config.attention,
                config.dropout,
                residual=config.residual,
                fast_forward=config.fast_forward,
                input_feeding=config.input_feeding,
            )
        )
        tie(config.embeddings, self.source_embedding, self.target_embedding, self.output)
        initialise_uniformly(self, config.d_model, config.initial_range)
        if config.fast_forward and config.initial_range is None:
            stacks = [part for part in self.modules() if isinstance(part, RecurrentStack)]
            above = [layer for stack in stacks for layer in stack.layers[1:]]
            steady_fast_forward([*above, *self.decoder.layers_above()], config.d_model)

    def encoder_states(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """The encoder's outputs that attention sees."""
        source, source_mask, _ = split_tags(self.language_tags, source, source_mask)
        return self.encoder.read(self.source_embedding(source), source_mask).seen

    @override
    def encode(self, source: Tensor, source_mask: Tensor) -> RecurrentMemory:
        source, source_mask, begin = split_tags(self.language_tags, source, source_mask)
        scored, seen, ends = self.encoder.read(self.source_embedding(source), source_mask)
        keys = self.decoder.attention.key(scored)
        bias = mask_bias(source_mask, seen.dtype)[:, None, :]  # (batch, 1, source)
        return RecurrentMemory(seen, source_mask, keys, bias, self.first_state(ends), begin)

    def start(self, memory: Memory, beam: int = 1) -> RecurrentState:
        """The initial state of the decoder, for ``beam`` rows per sentence."""
        assert isinstance(memory, RecurrentMemory)
        layers = [[part.repeat_interleave(beam, 0) for part in layer] for layer in memory.first]
        width = self.decoder.fed_width
        fed = memory.hidden.new_zeros(len(layers[0][0]), 1, width) if width else None
        return RecurrentState(layers, fed)

    @override
    def decode(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, RecurrentState]:
        hidden, state, _ = self._decode(target, memory, state)
        return hidden, state

    def _decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, RecurrentState, list[Tensor]]:
        assert isinstance(memory, RecurrentMemory)
        if self.language_tags is not None and memory.begin is not None:
            target = self.language_tags.begun(target, memory.begin)
        x = self.dropout(self.target_embedding(target))
        return cast(tuple[Tensor, RecurrentState, list[Tensor]], self.decoder(x, memory, state))

    def source_attention(self) -> Iterator[nn.Parameter]:
        """The weights of the attention score."""
        yield from self.decoder.attention.parameters()

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """One layer attends, with one head."""
        hidden, _, seen = self._decode(target, memory, self.start(memory))
        return hidden, torch.cat(seen, dim=1)[:, None, None]  # (batch, 1, 1, target, source)
