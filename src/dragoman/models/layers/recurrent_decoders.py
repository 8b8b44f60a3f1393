"""Decoders of recurrent models: stacked layers, of which the top or bottom layer attends.

Luong et al. 2015 attend from the top, Wu et al. 2016 (GNMT) from the bottom.  The scores of
attention are those of Bahdanau et al. 2015 and Luong et al. 2015.  See
:mod:`dragoman.models.families.recurrent` for the titles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from dragoman.models.interface import Memory, State
from dragoman.models.layers.attention import beams_as_queries, normalized
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.recurrence import (
    RESIDUAL_FROM,
    CellConfig,
    LayerState,
    advance,
    fast_forward,
    recurrent_layer,
)
from dragoman.models.layers.scoring import additive_hidden


@dataclass(frozen=True)
class RecurrentState(State):
    """State of each decoder layer, and the next input from input feeding."""

    layers: list[LayerState]  # tensors (rows, d_model)
    fed: Tensor | None  # (rows, 1, width); None without input feeding


@dataclass(frozen=True)
class DecoderChoices:
    """Sizes and connections of a decoder."""

    cell: CellConfig
    """Of all layers."""
    d_model: int
    """Width of embeddings, and units of each layer."""
    layers: int
    """Number of layers."""
    seen: int
    """Width of the encoder's outputs."""
    attention: str
    """Score that compares outputs with those of the encoder, a key of :data:`SCORES`."""
    dropout: float
    """On the input of every layer but the bottom one, and on the output."""
    residual: bool
    """Whether a layer's input is added to its output, from the third layer on."""
    fast_forward: bool
    """Whether a layer also reads the fast-forward connection of the layer below, see
    :func:`fast_forward`.
    """
    input_feeding: bool
    """Whether a vector of the previous position is read with the next piece."""

    @property
    def passed_on(self) -> int:
        """Width of a layer's fast-forward connection."""
        return 2 * self.d_model if self.fast_forward else 0

    def layer(self, width: int) -> nn.Module:
        """A layer that reads an input of this width."""
        return recurrent_layer(self.cell, width, self.d_model)


class Reading(NamedTuple):
    """A decoder's results for some positions."""

    hidden: Tensor
    """``(rows, length, d_model)``."""
    fed: Tensor
    """Vector of each position for input feeding, ``(rows, length, fed_width)``."""
    layers: list[LayerState]
    """The states after these positions."""
    weights: Tensor
    """Attention weights, ``(sentences, beam * length, source)``."""


class Decoder(nn.Module, ABC):
    """Stacked recurrent layers over the target, one of which attends to the source."""

    fed_width: int
    """Width that input feeding adds to an embedding; 0 without it."""
    attention: SourceAttention

    def __init__(self, choices: DecoderChoices) -> None:
        super().__init__()
        self.attention = SCORES[choices.attention](choices.d_model, choices.seen)
        self.dropout = Dropout(choices.dropout)
        self.residual, self.fast_forward = choices.residual, choices.fast_forward

    @abstractmethod
    def layers_above(self) -> Iterable[nn.Module]:
        """All layers except the bottom one."""

    @abstractmethod
    def read(self, x: Tensor, memory: AttendedMemory, state: list[LayerState]) -> Reading:
        """Read positions that depend on one another only through the layers' states.

        ``x`` is ``(rows, length, d_model + fed_width)``, ``memory`` of ``rows / beam`` sentences.
        """

    def forward(
        self, x: Tensor, memory: AttendedMemory, state: RecurrentState
    ) -> tuple[Tensor, RecurrentState, list[Tensor]]:
        """Read any number of positions.

        Returns:
            Hidden vectors, of the shape of ``x``, the state after these positions, and their
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

    def _beside(self, below: nn.Module, read: Tensor, given: Tensor) -> Tensor:
        """A layer's input: ``given``, after the fast-forward connection of the layer below."""
        return torch.cat([fast_forward(below, read), given], dim=-1) if self.fast_forward else given


class TopAttention(Decoder):
    """The top layer attends: ``tanh(W_c [context; h])`` (Luong et al. 2015, equation 5)."""

    def __init__(self, choices: DecoderChoices) -> None:
        super().__init__(choices)
        width = choices.d_model
        self.fed_width = width if choices.input_feeding else 0
        self.layers = nn.ModuleList(
            choices.layer(width + (choices.passed_on if depth else self.fed_width))
            for depth in range(choices.layers)
        )
        self.combine = nn.Linear(choices.seen + width, width, bias=False)

    @override
    def layers_above(self) -> Iterable[nn.Module]:
        return self.layers[1:]

    def read(self, x: Tensor, memory: AttendedMemory, state: list[LayerState]) -> Reading:
        """Input feeding reads the hidden vector."""
        after: list[LayerState] = []
        given = x
        for depth, (layer, past) in enumerate(zip(self.layers, state, strict=True)):
            if depth:
                given = self._beside(self.layers[depth - 1], given, self.dropout(x))
            output, now = advance(layer, given, past)
            after.append(now)
            x = self._connect(depth, output, x)
        context, weights = self.attention(x, memory)  # context: (rows, length, width)
        hidden = self.dropout(self.combine(torch.cat([context, x], dim=-1)).tanh())
        return Reading(hidden, hidden, after, weights)


class BottomAttention(Decoder):
    """The bottom layer attends for all layers above (after Wu et al. 2016, section 3).

    The paper's query is the bottom layer's output at the previous position; here it is the present
    output.  The context vector is fed to the bottom layer only with input feeding, which the paper
    does not have.
    """

    def __init__(self, choices: DecoderChoices) -> None:
        super().__init__(choices)
        width, seen = choices.d_model, choices.seen
        self.fed_width = seen if choices.input_feeding else 0
        self.bottom = choices.layer(width + self.fed_width)
        self.above = nn.ModuleList(
            choices.layer(width + seen + choices.passed_on) for _ in range(choices.layers - 1)
        )

    @override
    def layers_above(self) -> Iterable[nn.Module]:
        return self.above

    def read(self, x: Tensor, memory: AttendedMemory, state: list[LayerState]) -> Reading:
        """Input feeding reads the context vector."""
        given, below = x, self.bottom
        x, now = advance(below, given, state[0])
        context, weights = self.attention(x, memory)  # context: (rows, length, width)
        after = [now]
        for depth, (layer, past) in enumerate(zip(self.above, state[1:], strict=True), start=1):
            both = self.dropout(torch.cat([x, context], dim=-1))  # (rows, length, d_model + width)
            given, below = self._beside(below, given, both), layer
            output, now = advance(layer, given, past)
            after.append(now)
            x = self._connect(depth, output, x)
        return Reading(self.dropout(x), context, after, weights)


@dataclass(frozen=True)
class AttendedMemory(Memory):
    """Vectors that queries see (``hidden``), and the keys that queries are compared with."""

    keys: Tensor  # (batch, source, d_model)
    bias: Tensor  # (batch, 1, source), minus infinity at padding


class SourceAttention(nn.Module, ABC):
    """``softmax(score(h, m)) m`` (Luong et al. 2015, section 3.1, equation 7).

    It has one head.  The variants differ in the score of a decoder's output ``h`` and an encoder's
    output ``m``.  Luong et al. call it global attention (section 3.1).
    """

    key: nn.Linear | nn.Identity
    """``(batch, source, width)`` to keys ``(batch, source, d_model)``, once per sentence."""

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """``(batch, query, d_model)`` and ``(batch, source, d_model)`` to scores.

        Returns:
            ``(batch, query, source)``: dot products unless overridden.
        """
        return query @ keys.transpose(1, 2)

    def forward(self, query: Tensor, memory: AttendedMemory) -> tuple[Tensor, Tensor]:
        """Attend from each query to the sources of ``rows / beam`` sentences.

        Args:
            query: ``(rows, length, d_model)``.
            memory: the encoded source.

        Returns:
            Contexts ``(rows, length, width)`` and weights ``(sentences, beam * length, source)``.
        """
        queries = beams_as_queries(query, len(memory.keys))
        weights = normalized(self.scores(queries, memory.keys), memory.bias)
        context = weights @ memory.hidden  # (sentences, beam * length, width)
        return context.view(query.shape[0], query.shape[1], -1), weights


class DotAttention(SourceAttention):
    """``h . m`` (Luong et al. 2015, equation 8); both must have the same width."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        assert width == d_model, "ensured by the configuration"
        self.key = nn.Identity()


class GeneralAttention(SourceAttention):
    """``h . W_a m`` (Luong et al. 2015, equation 8)."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.key = nn.Linear(width, d_model, bias=False)  # W_a


class AdditiveAttention(SourceAttention):
    """``v_a . tanh(W_a h + U_a m)`` (Bahdanau et al. 2015, appendix A.1.2).

    Unlike the other two scores, it takes ``d_model`` numbers per pair of target and source
    positions.
    """

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_model, bias=False)  # W_a
        self.key = nn.Linear(width, d_model, bias=False)  # U_a
        self.score = nn.Linear(d_model, 1, bias=False)  # v_a

    @override
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        # (batch, query, source, d_model) to (batch, query, source)
        return self.score(additive_hidden(self.query(query), keys)).squeeze(-1)


SCORES: dict[str, type[AdditiveAttention | DotAttention | GeneralAttention]] = {
    "additive": AdditiveAttention,
    "dot": DotAttention,
    "general": GeneralAttention,
}
