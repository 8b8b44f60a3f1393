"""ByteNet (Kalchbrenner et al. 2016, "Neural Machine Translation in Linear Time", 1610.10099).

Dilated convolutions over the source, with masked convolutions over the target stacked directly on
top of them.  Target position t reads column t of the source, so there is no attention and time is
linear.  The defaults are the paper's model for character-level translation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import torch
from pydantic import Field, field_validator
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
from dragoman.models.layers.convolution import CausalConvolution, CentredConvolution, OddWidth
from dragoman.models.layers.dropout import Dropout


class ByteNetConfig(FamilyConfig):
    """Sizes of a ByteNet; the defaults are the paper's translation model."""

    family: Literal["bytenet"] = "bytenet"
    """Which family of models this is."""
    d_model: int = Field(1600, ge=2)
    """Width of embeddings and between blocks (2d in the paper); must be even, since blocks work on
    half of it."""
    encoder_layers: int = Field(30, ge=1, le=MAX_LAYERS)
    """Number of residual blocks over the source."""
    decoder_layers: int = Field(30, ge=1, le=MAX_LAYERS)
    """Number of residual blocks over the target."""
    layers_per_set: int = Field(5, ge=1, le=20)
    """Number of blocks in a set; in each set the dilation starts at 1 and doubles per block."""
    encoder_kernel_width: OddWidth = Field(5, ge=1)
    """Number of positions that an encoder block sees at once; odd."""
    decoder_kernel_width: int = Field(3, ge=1)
    """Number of positions that a decoder block sees at once: its own and earlier ones."""
    unfold_ratio: float = Field(1.2, ge=1, le=100)
    """a in a |s| + b, the number of columns that a source of length |s| offers the target."""
    unfold_extra: float = Field(0.0, ge=0, le=10_000)
    """b in a |s| + b."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on the last ReLU before the softmax."""
    block_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on the output that each block adds to its input; not in the paper."""

    @field_validator("d_model")
    @classmethod
    def _even(cls, width: int) -> int:
        if width % 2:
            raise ValueError("must be even: blocks work on half of it")
        return width

    def columns(self, source: int) -> int:
        """``ceil(a |s| + b)``: columns of a source of ``source`` pieces (section 3.2)."""
        return math.ceil(round(self.unfold_ratio * source + self.unfold_extra, 6))

    @property
    def encoder_width(self) -> int:
        """Width of all layers."""
        return self.d_model


@dataclass(frozen=True)
class ByteNetMemory(Memory):
    """``hidden`` is ``(batch, columns, d_model)``; zero beyond a source's own columns."""


@dataclass(frozen=True)
class ByteNetState(State):
    """Each block's left context, ``(rows, (kernel_width - 1) * dilation, d_model / 2)``."""

    contexts: list[Tensor]
    length: int


def _linear(inputs: int, outputs: int) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


class Block(nn.Module):
    """A residual block around a dilated convolution, the variant with ReLUs (section 3.6).

    Normalise, ReLU, narrow to half; normalise, ReLU, convolve; normalise, ReLU, widen.
    """

    def __init__(self, config: ByteNetConfig) -> None:
        super().__init__()
        width = config.d_model // 2
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in (config.d_model, width, width))
        self.narrow = _linear(config.d_model, width)
        self.widen = _linear(width, config.d_model)
        self.dropout = Dropout(config.block_dropout)

    def before(self, x: Tensor) -> Tensor:
        """From ``(rows, length, d_model)`` to the convolution's input, of half the width."""
        first, second, _ = self.norms
        return second(self.narrow(first(x).relu())).relu()

    def after(self, x: Tensor, convolved: Tensor) -> Tensor:
        """The sum of the block's input and its widened convolution, ``(rows, length, d_model)``."""
        return x + self.dropout(self.widen(self.norms[2](convolved).relu()))


class EncoderBlock(Block):
    """A block whose convolution sees both sides."""

    def __init__(self, config: ByteNetConfig, dilation: int) -> None:
        super().__init__(config)
        width = config.d_model // 2
        self.convolution = CentredConvolution(width, width, config.encoder_kernel_width, dilation)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``(batch, columns, d_model)`` to the same shape; ``mask`` is ``(batch, columns, 1)``."""
        # Biases make padding non-zero in each block, and convolutions would spread it.
        return self.after(x, self.convolution(self.before(x) * mask))


class DecoderBlock(Block):
    """A block whose convolution is masked: it sees its own and earlier positions."""

    def __init__(self, config: ByteNetConfig, dilation: int) -> None:
        super().__init__(config)
        width = config.d_model // 2
        self.convolution = CausalConvolution(width, width, config.decoder_kernel_width, dilation)

    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """``(rows, target, d_model)`` to the same shape, and the next left context."""
        convolved, context = self.convolution.extend(self.before(x), context)
        return self.after(x, convolved), context


class ByteNet(ProjectedModel):
    """Dilated convolutions over source and target, one stacked on the other.

    Dynamic unfolding (section 3.2): a source of length ``|s|`` is padded with zeros to
    ``a |s| + b`` columns, a bound on the target's length, and encoded.  The target then grows
    column by column until its end symbol; beyond the bound it reads zeros.

    The paper stacks the decoder on the encoder without saying how a target embedding and its
    column are joined.  As both have the width 2d, they are added here.  The paper does not say how
    embeddings are initialised either.  Here they are initialised as in the Transformer, and scaled
    by the root of their width.
    """

    Config = ByteNetConfig
    config: ByteNetConfig
    parts: ClassVar[Mapping[str, Part]] = {**ProjectedModel.parts, "last": "decoder"}

    def __init__(
        self, config: ByteNetConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        self.source_embedding = nn.Embedding(source_vocabulary, config.d_model)
        self.target_embedding = nn.Embedding(target_vocabulary, config.d_model)
        self.encoder = nn.ModuleList(
            EncoderBlock(config, 2 ** (number % config.layers_per_set))
            for number in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(config, 2 ** (number % config.layers_per_set))
            for number in range(config.decoder_layers)
        )
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=config.d_model**-0.5)
        self.last = _linear(config.d_model, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.output = _linear(config.d_model, target_vocabulary)

    def encoder_states(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """The columns of the pieces, without further columns for a longer target."""
        return self.encode(source, source_mask).hidden[:, : source.shape[1]]

    @override
    def encode(self, source: Tensor, source_mask: Tensor) -> ByteNetMemory:
        length = source.shape[1]
        own = torch.tensor(  # columns of each possible length
            [self.config.columns(pieces) for pieces in range(length + 1)], device=source.device
        )
        columns = self.config.columns(length)
        places = torch.arange(columns, device=source.device)
        mask = (places < own[source_mask.sum(1)].unsqueeze(1)).unsqueeze(2)  # (batch, columns, 1)
        x = self._scaled(self.source_embedding(source)) * source_mask.unsqueeze(2)
        x = functional.pad(x, (0, 0, 0, columns - length))  # (batch, columns, d_model)
        for block in self.encoder:
            x = block(x, mask)
        return ByteNetMemory(x * mask, source_mask)

    @override
    def start(self, memory: Memory, beam: int = 1) -> ByteNetState:
        rows = memory.hidden.shape[0] * beam
        blocks = [cast(DecoderBlock, block) for block in self.decoder]
        return ByteNetState([block.convolution.start(rows, memory.hidden) for block in blocks], 0)

    @override
    def decode(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, ByteNetState]:
        assert isinstance(state, ByteNetState)
        end = state.length + target.shape[1]
        x = self._stack(
            self._scaled(self.target_embedding(target)), memory.hidden[:, state.length : end]
        )
        contexts = []
        for block, context in zip(self.decoder, state.contexts, strict=True):
            x, following = block(x, context)
            contexts.append(following)
        return self.dropout(self.last(x).relu()), ByteNetState(contexts, end)

    def _scaled(self, embedded: Tensor) -> Tensor:
        """Scale to unit variance; the weights stay small, so Adam moves them as fast as others."""
        return embedded * self.config.d_model**0.5

    @staticmethod
    def _stack(embedded: Tensor, columns: Tensor) -> Tensor:
        """Add each target position's column; a sentence's beams share its columns, not copied."""
        rows, length, width = embedded.shape
        columns = functional.pad(columns, (0, 0, 0, length - columns.shape[1]))
        beams = embedded.view(columns.shape[0], -1, length, width)  # (batch, beam, length, width)
        return (beams + columns.unsqueeze(1)).view(rows, length, width)
