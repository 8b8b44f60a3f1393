"""ConvS2S (Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", arXiv:1705.03122).

Convolutions with gated linear units on both sides, and attention in every decoder layer.
The defaults are the paper's model for WMT'16 English-Romanian.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from dragoman.models.interface import (
    MAX_LAYERS,
    FamilyConfig,
    Memory,
    Part,
    ProjectedModel,
    State,
)
from dragoman.models.layers.attention import beams_as_queries, mask_bias, normalized
from dragoman.models.layers.averaging_encoder import AveragingEncoder
from dragoman.models.layers.convolution import (
    CausalConvolution,
    CentredConvolution,
    OddWidth,
    weight_normalised,
)
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.embeddings import OUTPUT_TIED, Sharing, tie
from dragoman.models.layers.positions import LearnedPositions

_HALF = 0.5**0.5  # a sum of two inputs times this has the variance of one of them (section 3.4)


class ConvS2SConfig(FamilyConfig):
    """Sizes and choices of a ConvS2S; the defaults are the paper's English-Romanian model."""

    family: Literal["convs2s"] = "convs2s"
    """Which family of models this is."""
    encoder: Literal["convolution", "averaging"] = "convolution"
    """Convolutional layers (the paper), or attention over embeddings smoothed by a window
    (Ranzato et al. 2016)."""
    encoder_layers: int = Field(20, ge=1, le=MAX_LAYERS)
    """Convolutional layers of the encoder; the averaging encoder has none."""
    decoder_layers: int = Field(20, ge=1, le=MAX_LAYERS)
    """Layers of the decoder, each with attention over the source."""
    d_hidden: int = Field(512, ge=1)
    """Channels inside the layers; gates double them. d_model is the width of embeddings."""
    encoder_kernel_width: OddWidth = Field(3, ge=1)
    """Number of positions that an encoder layer sees at once; odd."""
    decoder_kernel_width: int = Field(3, ge=1)
    """Number of positions that a decoder layer sees at once: its own and earlier ones."""
    averaging_window: OddWidth = Field(5, ge=1, le=1000)
    """Number of positions that the averaging encoder averages; odd."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout on embeddings, on inputs of convolutions and on the decoder's output."""
    positions: Literal["learned", "none"] = "learned"
    """Learned vectors added to embeddings (the paper), or none: convolutions distinguish near from
    far by themselves (section 5.4 and Table 4)."""
    max_positions: int = Field(1024, ge=1)
    """Maximum sentence length in pieces with learned positions; without positions there is no
    limit."""
    embeddings: Sharing = "separate"
    """Matrices of embeddings. separate: three (the paper); target: one for target and output;
    shared: one for source, target and output (needs a joint vocabulary)."""

    def conflicts(self) -> Iterator[str]:
        """Yield settings that the chosen encoder and positions do not read."""
        if self.positions == "none":
            yield from self.unread("with positions: none", "max_positions")
        if self.encoder == "averaging":
            names = ("encoder_layers", "encoder_kernel_width")
            yield from self.unread("with encoder: averaging", *names)
        else:
            yield from self.unread("without encoder: averaging", "averaging_window")

    @property
    def attention_layers(self) -> int:
        """All layers of the decoder."""
        return self.decoder_layers

    @property
    def position_limit(self) -> int | None:
        """Number of learned positions; None without positions."""
        return self.max_positions if self.positions == "learned" else None

    @property
    def encoder_width(self) -> int:
        """Width of all layers."""
        return self.d_model


@dataclass(frozen=True)
class ConvS2SMemory(Memory):
    """Keys (``hidden``) and values of the source, shared by all decoder layers."""

    values: Tensor  # (batch, source, d_model)
    bias: Tensor  # (batch, 1, source)
    scale: Tensor  # (batch, 1, 1): m sqrt(1 / m) for a source of length m


@dataclass(frozen=True)
class ConvS2SState(State):
    """Each layer's left context."""

    contexts: list[Tensor]  # (rows, kernel_width - 1, d_hidden)
    length: int  # target positions read so far


class Embedding(nn.Module):
    """``e = w + p``, or ``w`` without positions, then dropout (section 3.1)."""

    def __init__(self, config: ConvS2SConfig, vocabulary: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, config.d_model))
        self.positions = (
            LearnedPositions(config.d_model, config.max_positions)
            if config.positions == "learned"
            else None
        )
        self.dropout = Dropout(config.dropout)
        for table in self.parameters():
            nn.init.normal_(table, std=0.1)  # section 3.5

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """``(rows, length)`` at positions from ``start`` on, to ``(rows, length, d_model)``."""
        vectors = functional.embedding(ids, self.weight)
        if self.positions is not None:  # (rows, length, d_model) + (length, d_model)
            vectors = vectors + self.positions(start, ids.shape[1])
        return self.dropout(vectors)


def _linear(inputs: int, outputs: int, dropout: float = 0.0) -> nn.Linear:
    """A weight-normalised linear layer, initialised for its input's dropout."""
    return weight_normalised(nn.Linear(inputs, outputs), 1 - dropout)


class EncoderLayer(nn.Module):
    """``(GLU(convolution(x)) + x) * sqrt(0.5)`` (sections 3.2 and 3.4)."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        width = config.d_hidden
        self.dropout = Dropout(config.dropout)
        self.convolution = weight_normalised(
            CentredConvolution(width, 2 * width, config.encoder_kernel_width),
            4 * (1 - config.dropout),
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``(batch, source, d_hidden)`` to the same shape; ``mask`` is ``(batch, source, 1)``."""
        # Biases make padding non-zero in each layer, and convolutions would spread it.
        # (batch, source, 2 * d_hidden) to (batch, source, d_hidden)
        gated = functional.glu(self.convolution(self.dropout(x * mask)), dim=-1)
        return (gated + x) * _HALF


class ConvolutionalEncoder(nn.Module):
    """Embeddings through gated convolutions (section 3.2)."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.into = _linear(config.d_model, config.d_hidden, config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.out = _linear(config.d_hidden, config.d_model)
        self.readers = config.decoder_layers

    def forward(self, embedded: Tensor, source_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Keys ``z`` and values ``z + e``, both ``(batch, source, d_model)`` (equation 2)."""
        mask = source_mask.unsqueeze(2)
        x = self.into(embedded)  # (batch, source, d_hidden)
        for layer in self.layers:
            x = layer(x, mask)
        z = self.out(x)  # (batch, source, d_model)
        return z, z + embedded

    def expect_readers(self, z: Tensor) -> None:
        """Give the layers below ``z`` the mean of the gradients that decoder layers send back.

        The embeddings in the values get their sum (section 3.4).  Use it only to train a decoder:
        the gradients of likelihood itself, as in Fisher information, are sums.
        """
        if self.training and z.requires_grad:
            z.register_hook(lambda gradient: gradient / self.readers)


class DecoderLayer(nn.Module):
    """Gated causal convolution, then attention over the source (sections 3.2 and 3.3)."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        width = config.d_hidden
        self.dropout = Dropout(config.dropout)
        self.convolution = weight_normalised(
            CausalConvolution(width, 2 * width, config.decoder_kernel_width),
            4 * (1 - config.dropout),
        )
        self.query = _linear(width, config.d_model)
        self.output = _linear(config.d_model, width)

    def forward(
        self, x: Tensor, context: Tensor, embedded: Tensor, memory: ConvS2SMemory
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read further target positions.

        Args:
            x: ``(rows, target, d_hidden)``.
            context: to the left, of this layer's convolution.
            embedded: the target embeddings ``g``, ``(rows, target, d_model)``.
            memory: of ``rows / beam`` sentences.

        Returns:
            The output, the next context, and weights over the source, ``(rows, target, source)``.
        """
        convolved, context = self.convolution.extend(self.dropout(x), context)
        # (rows, target, 2 * d_hidden) to (rows, target, d_hidden)
        h = (functional.glu(convolved, dim=-1) + x) * _HALF
        c, weights = attend(self.query(h) + embedded, memory)
        return (h + self.output(c)) * _HALF, context, weights


def attend(summary: Tensor, memory: ConvS2SMemory) -> tuple[Tensor, Tensor]:
    """``c_i = m sqrt(1 / m) sum_j softmax_j(d_i . z_j) (z_j + e_j)``, equations 1 and 2.

    Args:
        summary: ``d``, ``(rows, target, d_model)``: decoder state and target embedding.
        memory: of ``rows / beam`` sentences, shared by a sentence's beams without copies.

    Returns:
        ``c`` of the shape of ``d``, and the weights ``(rows, target, source)``.
    """
    queries = beams_as_queries(summary, len(memory.hidden))
    # (sentences, beam * target, d_model) @ (sentences, d_model, source)
    weights = normalized(queries @ memory.hidden.transpose(1, 2), memory.bias)
    context = (weights @ memory.values) * memory.scale
    return context.view_as(summary), weights.view(*summary.shape[:2], -1)


class ConvS2S(ProjectedModel):
    """Convolutional encoder and decoder with attention in every layer (Gehring et al. 2017).

    The paper adds ``c_i`` to ``h_i`` and leaves open how their widths are matched.  Here, as in the
    authors' program, a linear layer projects ``c_i`` to the width of the layers, and the sum is
    scaled by sqrt(0.5) like every other.  Unlike that program, a layer attends after its residual
    sum, as in the paper (docs/references.md).
    """

    Config = ConvS2SConfig
    config: ConvS2SConfig
    parts: ClassVar[Mapping[str, Part]] = {
        **ProjectedModel.parts,
        "into_decoder": "decoder",
        "out_of_decoder": "decoder",
    }

    def __init__(
        self, config: ConvS2SConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        self.source_embedding = Embedding(config, source_vocabulary)
        self.target_embedding = Embedding(config, target_vocabulary)
        self.encoder = (
            ConvolutionalEncoder(config)
            if config.encoder == "convolution"
            else AveragingEncoder(config.averaging_window)
        )
        self.into_decoder = _linear(config.d_model, config.d_hidden, config.dropout)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.out_of_decoder = _linear(config.d_hidden, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.output = self._output_layer(target_vocabulary)
        tie(config.embeddings, self.source_embedding, self.target_embedding, self.output)

    def _output_layer(self, vocabulary: int) -> nn.Linear:
        width = self.config.d_model
        if self.config.embeddings not in OUTPUT_TIED:
            return _linear(width, vocabulary, self.config.dropout)
        # A lookup table is not weight-normalised, so an output that shares it is not either.
        output = nn.Linear(width, vocabulary)
        nn.init.zeros_(output.bias)
        return output

    def encoder_states(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """The values of attention, ``z + e``."""
        _, values = self.encoder(self.source_embedding(source), source_mask)
        return cast(Tensor, values)

    @override
    def encode(self, source: Tensor, source_mask: Tensor) -> ConvS2SMemory:
        keys, values = self.encoder(self.source_embedding(source), source_mask)
        if isinstance(self.encoder, ConvolutionalEncoder):
            self.encoder.expect_readers(keys)
        bias = mask_bias(source_mask, keys.dtype).unsqueeze(1)  # (batch, 1, source)
        length = source_mask.sum(1).to(keys.dtype)
        scale = length * (1 / length).sqrt()  # m sqrt(1 / m), section 3.4
        return ConvS2SMemory(keys, source_mask, values, bias, scale[:, None, None])

    @override
    def start(self, memory: Memory, beam: int = 1) -> ConvS2SState:
        rows = memory.hidden.shape[0] * beam
        layers = [cast(DecoderLayer, layer) for layer in self.decoder]
        return ConvS2SState([la.convolution.start(rows, memory.hidden) for la in layers], 0)

    @override
    def decode(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, ConvS2SState]:
        hidden, state, _ = self._decode(target, memory, state)
        return hidden, state

    def _decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, ConvS2SState, list[Tensor]]:
        assert isinstance(memory, ConvS2SMemory)
        assert isinstance(state, ConvS2SState)
        embedded = self.target_embedding(target, state.length)  # (rows, target, d_model)
        x = self.into_decoder(embedded)  # (rows, target, d_hidden)
        contexts, seen = [], []
        for layer, context in zip(self.decoder, state.contexts, strict=True):
            x, following, weights = layer(x, context, embedded, memory)
            contexts.append(following)
            seen.append(weights)
        hidden = self.dropout(self.out_of_decoder(x))
        return hidden, ConvS2SState(contexts, state.length + target.shape[1]), seen

    def source_attention(self) -> Iterator[nn.Parameter]:
        """Projections of queries and contexts."""
        for layer in self.decoder:
            for projection in (cast(DecoderLayer, layer).query, cast(DecoderLayer, layer).output):
                yield from projection.parameters()

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Each layer attends with one head."""
        hidden, _, seen = self._decode(target, memory, self.start(memory))
        chosen = seen if layer is None else [seen[layer]]
        # (batch, layers, 1, target, source)
        return hidden, torch.stack(chosen, dim=1).unsqueeze(2)
