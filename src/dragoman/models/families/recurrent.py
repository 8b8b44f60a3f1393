"""Recurrent encoders and decoders with attention, the systems before the Transformer.

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", whose
model is the default, except that theirs reads the source from its end (``source: reversed``);
Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate"; Wu
et al. 2016, "Google's Neural Machine Translation System" (GNMT).

Attention always follows Luong's order: the present output of a layer is the query.  Bahdanau et
al. and GNMT query with the output of the previous position.  From Bahdanau et al. come the
additive score, the bidirectional encoder and the decoder's first state, but neither the context as
an input of the cell nor the maxout layer before the softmax.  Initial weights are uniform, like
Luong's; those of Bahdanau et al. are normal and orthogonal (appendix B.1).

The averaging encoder of Ranzato et al. 2016, "Sequence Level Training with Recurrent Neural
Networks", may replace the recurrent one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.models.interface import (
    MAX_LAYERS,
    FamilyConfig,
    Memory,
    Part,
    State,
    TranslationModel,
)
from dragoman.models.layers.attention import mask_bias
from dragoman.models.layers.convolution import OddWidth
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.embeddings import Sharing, tie
from dragoman.models.layers.recurrence import (
    RESIDUAL_FROM,
    Cell,
    LayerState,
    advance,
    initialise_uniformly,
    recurrent_layer,
)
from dragoman.models.layers.recurrent_attention import SCORES, AttendedMemory, SourceAttention
from dragoman.models.layers.recurrent_sources import (
    AveragedEmbeddings,
    FirstState,
    RecurrentEncoder,
)


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
    by a window (Ranzato et al. 2016). The averaging encoder has no layers, so encoder_layers,
    bidirectional and source do not apply, and the decoder starts from zeros."""
    averaging_window: OddWidth = Field(5, ge=1, le=1000)
    """Number of positions that the averaging encoder averages; odd."""
    max_positions: int = Field(1024, ge=1)
    """Maximum length of source and target in pieces with the averaging encoder, whose positions are
    learned."""
    source: Literal["forward", "reversed"] = "forward"
    """Order in which the source is read: its own (forward), or from its last word to its first with
    the end symbol last (reversed, Sutskever et al. 2014, section 3.3), as in all models with
    attention of Luong et al. 2015 (section 4.2). Attention weights are in the source's own order
    either way."""
    cell: Cell = "lstm"
    """LSTM (Luong, GNMT) or gated recurrent unit (Bahdanau); PyTorch's own."""
    bidirectional: Literal["none", "first", "all"] = "none"
    """Encoder layers that also read from the end: none (Luong), the first (GNMT, section 3.2) or
    all (Bahdanau). Such a layer's output is twice as wide. The encoder's final states initialise
    the decoder: layer by layer where both have the same number of layers and none is bidirectional
    (Luong), otherwise by `tanh(W_s h)` of the top layer, of its backward direction if it has one
    (Bahdanau, A.2.2)."""
    attention: Literal["additive", "dot", "general"] = "general"
    """How decoder and encoder outputs are compared: by a hidden layer (additive, Bahdanau, A.1.2),
    a plain product (dot) or one with a matrix (general, Luong, equation 8); dot needs encoder
    outputs of width d_model."""
    attention_from: Literal["top", "bottom"] = "top"
    """Decoder layer that attends to the source: the top one, whose output is combined with its
    context vector (Luong, equation 5), or the bottom one, whose context vector all layers above
    receive (GNMT, section 3)."""
    input_feeding: bool = True
    """Whether the last position's attentional output is read with the next piece (Luong, section
    3.3), which means that positions are computed one after another. With attention from the bottom
    it is the context vector."""
    residual: bool = False
    """Whether a layer's input is added to its output, from the third layer on (GNMT, section
    3.1)."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout on embeddings, between layers and on the output, but not on the state that a layer
    passes on to its next position (Zaremba et al. 2014)."""
    initial_range: float | None = Field(None, gt=0, le=100)
    """Initial weights are uniform between minus and plus this; `0.1 sqrt(1000 / d_model)` if not
    given, as Luong has 0.1 for 1,000 units (section 4.1). GNMT has 0.04 (section 8.3)."""
    embeddings: Sharing = "separate"
    """separate: three matrices for source, target and output (the papers); target: one for target
    and output; shared: one for all (needs a joint vocabulary)."""

    def conflicts(self) -> Iterator[str]:
        """Layers that other choices need, and settings that the chosen encoder does not read."""
        if self.attention == "dot" and self.encoder_width != self.d_model:
            yield (
                "attention dot needs a top encoder layer that reads in one direction; set "
                "bidirectional to none, or attention to general or additive"
            )
        if self.attention_from == "bottom" and self.decoder_layers == 1:
            yield "attention_from bottom needs decoder_layers of 2 or more"
        if self.residual and max(self._layers) <= RESIDUAL_FROM:
            yield "residual begins at the third layer and needs 3 layers or more"
        unread = {
            "recurrent": ("averaging_window", "max_positions"),
            "averaging": ("encoder_layers", "bidirectional", "source"),
        }
        yield from self.unread(f"with encoder: {self.encoder}", *unread[self.encoder])

    @property
    def _layers(self) -> tuple[int, ...]:
        """Numbers of recurrent layers."""
        averaging = self.encoder == "averaging"
        return (self.decoder_layers,) if averaging else (self.encoder_layers, self.decoder_layers)

    @property
    def position_limit(self) -> int | None:
        """Number of the averaging encoder's learned positions; None for a recurrent encoder."""
        return self.max_positions if self.encoder == "averaging" else None

    @property
    def attention_layers(self) -> int:
        """One, at the top or at the bottom."""
        return 1

    @property
    def encoder_directions(self) -> list[int]:
        """1 or 2 for each encoder layer."""
        both = {"none": 0, "first": 1, "all": self.encoder_layers}[self.bidirectional]
        return [2 if depth < both else 1 for depth in range(self.encoder_layers)]

    @property
    def encoder_width(self) -> int:
        """Width of the encoder's outputs."""
        return self.d_model * self.encoder_directions[-1]

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


@dataclass(frozen=True)
class RecurrentState(State):
    """State of each decoder layer, and what input feeding reads next."""

    layers: list[LayerState]  # tensors (rows, d_model)
    fed: Tensor | None  # (rows, 1, width); None without input feeding


def _layer(config: RecurrentConfig, width: int) -> nn.RNNBase:
    return recurrent_layer(config.cell, width, config.d_model)


class Reading(NamedTuple):
    """A decoder's results for some positions."""

    hidden: Tensor
    """``(rows, length, d_model)``."""
    fed: Tensor
    """What input feeding may read of each position, ``(rows, length, fed_width)``."""
    layers: list[LayerState]
    """The states after these positions."""
    weights: Tensor
    """Attention weights, ``(sentences, beam * length, source)``."""


class Decoder(nn.Module, ABC):
    """Stacked recurrent layers over the target, one of which attends to the source."""

    fed_width: int
    """Width of what input feeding adds to an embedding; 0 without it."""
    attention: SourceAttention

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.attention = SCORES[config.attention](config.d_model, config.encoder_width)
        self.dropout = Dropout(config.dropout)
        self.residual = config.residual

    @abstractmethod
    def read(self, x: Tensor, memory: AttendedMemory, state: list[LayerState]) -> Reading:
        """Read positions that depend on one another only through the layers' states.

        Args:
            x: ``(rows, length, d_model + fed_width)``.
            memory: of ``rows / beam`` sentences.
            state: of each layer.
        """

    def forward(
        self, x: Tensor, memory: AttendedMemory, state: RecurrentState
    ) -> tuple[Tensor, RecurrentState, list[Tensor]]:
        """Read any number of positions.

        Returns:
            Hidden vectors, of the shape of ``x``; the state after these positions; and their
            attention weights, all in one tensor or, with input feeding, one tensor per position.
        """
        layers, fed = state.layers, state.fed
        if fed is None:
            read = self.read(x, memory, layers)
            return read.hidden, RecurrentState(read.layers, None), [read.weights]
        outputs, weights = [], []
        for position in x.split(1, dim=1):  # (rows, 1, d_model)
            read = self.read(torch.cat([position, fed], dim=-1), memory, layers)
            fed, layers = read.fed, read.layers
            outputs.append(read.hidden)
            weights.append(read.weights)
        return torch.cat(outputs, dim=1), RecurrentState(layers, fed), weights

    def _connect(self, depth: int, output: Tensor, below: Tensor) -> Tensor:
        return output + below if self.residual and depth >= RESIDUAL_FROM else output


class TopAttention(Decoder):
    """The top layer attends: ``tanh(W_c [context; h])`` (Luong et al. 2015, equation 5)."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        width = config.d_model
        self.fed_width = width if config.input_feeding else 0
        self.layers = nn.ModuleList(
            _layer(config, width if depth else width + self.fed_width)
            for depth in range(config.decoder_layers)
        )
        self.combine = nn.Linear(config.encoder_width + width, width, bias=False)

    def read(self, x: Tensor, memory: AttendedMemory, state: list[LayerState]) -> Reading:
        """See :meth:`Decoder.read`; input feeding reads the hidden vector."""
        after = []
        for depth, (layer, past) in enumerate(zip(self.layers, state, strict=True)):
            output, now = advance(layer, self.dropout(x) if depth else x, past)
            after.append(now)
            x = self._connect(depth, output, x)
        context, weights = self.attention(x, memory)  # context: (rows, length, width)
        hidden = self.dropout(self.combine(torch.cat([context, x], dim=-1)).tanh())
        return Reading(hidden, hidden, after, weights)


class BottomAttention(Decoder):
    """The bottom layer attends for all layers above (after Wu et al. 2016, section 3).

    The paper's query is the bottom layer's output at the previous position, here it is the present
    one; and the context vector is fed to the bottom layer only with input feeding, which the paper
    does not have.
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        width, seen = config.d_model, config.encoder_width
        self.fed_width = seen if config.input_feeding else 0
        self.bottom = _layer(config, width + self.fed_width)
        self.above = nn.ModuleList(
            _layer(config, width + seen) for _ in range(config.decoder_layers - 1)
        )

    def read(self, x: Tensor, memory: AttendedMemory, state: list[LayerState]) -> Reading:
        """See :meth:`Decoder.read`; input feeding reads the context vector."""
        x, now = advance(self.bottom, x, state[0])
        context, weights = self.attention(x, memory)  # context: (rows, length, width)
        after = [now]
        for depth, (layer, past) in enumerate(zip(self.above, state[1:], strict=True), start=1):
            both = self.dropout(torch.cat([x, context], dim=-1))  # (rows, length, d_model + width)
            output, now = advance(layer, both, past)
            after.append(now)
            x = self._connect(depth, output, x)
        return Reading(self.dropout(x), context, after, weights)


def _encoder(config: RecurrentConfig) -> RecurrentEncoder | AveragedEmbeddings:
    if config.encoder == "averaging":
        return AveragedEmbeddings(
            config.d_model,
            config.averaging_window,
            config.max_positions,
            config.dropout,
            layers=config.decoder_layers,
            parts=2 if config.cell == "lstm" else 1,
        )
    return RecurrentEncoder(
        config.cell,
        config.d_model,
        config.encoder_directions,
        config.dropout,
        residual=config.residual,
        from_end=config.source == "reversed",
    )


class Recurrent(TranslationModel):
    """Decoder of stacked LSTMs or GRUs with attention, and a recurrent or averaging encoder.

    Raises:
        ConfigError: embeddings are to be shared between vocabularies of different sizes.
    """

    Config = RecurrentConfig
    parts: ClassVar[Mapping[str, Part]] = {**TranslationModel.parts, "first_state": "decoder"}

    def __init__(
        self, config: RecurrentConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        config.check_vocabularies(source_vocabulary, target_vocabulary)
        self.config = config
        self.position_limit = config.position_limit
        self.source_embedding = nn.Embedding(source_vocabulary, config.d_model)
        self.target_embedding = nn.Embedding(target_vocabulary, config.d_model)
        self.output = nn.Linear(config.d_model, target_vocabulary, bias=False)
        self.dropout = Dropout(config.dropout)
        self.encoder = _encoder(config)
        self.first_state = (
            nn.Identity()
            if config.copies_state
            else FirstState(config.d_model, config.decoder_layers)
        )
        attended_from = TopAttention if config.attention_from == "top" else BottomAttention
        self.decoder: Decoder = attended_from(config)
        tie(config.embeddings, self.source_embedding, self.target_embedding, self.output)
        initialise_uniformly(self, config.d_model, config.initial_range)

    def encoder_states(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """What attention sees of each piece; see :meth:`TranslationModel.encoder_states`.

        Raises:
            DataError: a sentence is longer than the positions that the averaging encoder has.
        """
        return self.encoder.read(self.source_embedding(source), source_mask).seen

    def encode(self, source: Tensor, source_mask: Tensor) -> RecurrentMemory:
        """Read the source; see :meth:`TranslationModel.encode`.

        Raises:
            DataError: a sentence is longer than the positions that the averaging encoder has.
        """
        scored, seen, ends = self.encoder.read(self.source_embedding(source), source_mask)
        keys = self.decoder.attention.keys(scored)
        bias = mask_bias(source_mask, seen.dtype)[:, None, :]  # (batch, 1, source)
        return RecurrentMemory(seen, source_mask, keys, bias, self.first_state(ends))

    def start(self, memory: Memory, beam: int = 1) -> RecurrentState:
        """The initial state of the decoder, for ``beam`` rows per sentence."""
        assert isinstance(memory, RecurrentMemory)
        layers = [[part.repeat_interleave(beam, 0) for part in layer] for layer in memory.first]
        width = self.decoder.fed_width
        fed = memory.hidden.new_zeros(len(layers[0][0]), 1, width) if width else None
        return RecurrentState(layers, fed)

    def decode(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, RecurrentState]:
        """Read further target positions; see :meth:`TranslationModel.decode`."""
        hidden, state, _ = self._decode(target, memory, state)
        return hidden, state

    def _decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, RecurrentState, list[Tensor]]:
        x = self.dropout(self.target_embedding(target))
        return cast(tuple[Tensor, RecurrentState, list[Tensor]], self.decoder(x, memory, state))

    def source_attention(self) -> Iterator[nn.Parameter]:
        """Those of the score; see :meth:`TranslationModel.source_attention`."""
        yield from self.decoder.attention.parameters()

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """One layer attends, with one head; see :meth:`TranslationModel.decode_attending`."""
        hidden, _, seen = self._decode(target, memory, self.start(memory))
        return hidden, torch.cat(seen, dim=1)[:, None, None]  # (batch, 1, 1, target, source)

    def logits(self, hidden: Tensor) -> Tensor:
        """``(..., d_model)`` to ``(..., target_vocabulary)``."""
        return self.output(hidden)
