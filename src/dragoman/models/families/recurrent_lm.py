"""Recurrent networks without attention: a language model, or a translator.

The language model is that of Zaremba et al. 2014, "Recurrent Neural Network Regularization".  The
translator is that of Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks":
the target sees only the final state after the source.  The initial weights have a larger range than
theirs unless ``initial_range`` is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

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
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.embeddings import SIDES_TIED, Sharing, tie
from dragoman.models.layers.recurrence import (
    CellConfig,
    LayerState,
    Order,
    RecurrentStack,
    advance,
    backwards,
    initialise_uniformly,
)


class RecurrentLMConfig(FamilyConfig):
    """Sizes and choices of a recurrent language model; the defaults are Zaremba's medium model."""

    family: Literal["recurrent_lm"] = "recurrent_lm"
    """Which family of models this is."""
    d_model: int = Field(650, ge=1)
    """Width of embeddings, and units of each layer."""
    layers: int = Field(2, ge=1, le=MAX_LAYERS)
    """Layers, each reading the outputs of the one below."""
    recurrence: Flat[CellConfig] = CellConfig()
    """What a layer computes at each position."""
    source: Literal["none", "forward", "reversed"] = "none"
    """none: a language model, which reads no source. Otherwise a translator, which reads the source
    before the target: forward, or reversed, from its last word to its first with the end symbol
    last (Sutskever et al. 2014, section 3.3)."""
    source_layers: Literal["same", "own"] = "same"
    """Layers that read the source: the same as for the target, or as many of its own (Sutskever et
    al. 2014, section 2)."""
    dropout: float = Field(0.5, ge=0, lt=1)
    """Dropout on embeddings, between layers and on the output, but not between the positions of a
    layer (Zaremba et al. 2014)."""
    initial_range: float | None = Field(None, gt=0, le=100)
    """Initial weights are uniform between minus and plus this value; by default `0.1 sqrt(1000 /
    d_model)` (Luong et al. 2015). Zaremba et al. have 0.05 for 650 units, Sutskever et al. 0.08 for
    1,000; training by Adam then starts more slowly."""
    embeddings: Sharing = "separate"
    """Matrices of embeddings. separate: one each for target, output (the papers) and, if it is
    read, the source; target: one for target and output; shared: one for all (needs a joint
    vocabulary)."""

    if TYPE_CHECKING:  # keys as in a recipe, including those of sections

        def __init__(self, **values: Any) -> None:
            pass

    def conflicts(self) -> Iterator[str]:
        """Yield a cell that does not fit, and settings that need a source if there is none."""
        yield from self.recurrence.conflicts_with(self.d_model)
        if self.source == "none" and self.embeddings in SIDES_TIED:
            own = f"embeddings: {self.embeddings}"
            yield f"{own} is for a model that reads a source; set it to target"
        if self.source == "none" and self.source_layers == "own":
            yield "source_layers: own needs a source; set source to forward or reversed"

    @property
    def reads_source(self) -> bool:
        """Whether the model is a translator."""
        return self.source != "none"


@dataclass(frozen=True)
class RecurrentLMMemory(Memory):
    """Each layer's final state after the source; zeros for a language model."""

    first: list[LayerState]  # tensors (batch, d_model)


@dataclass(frozen=True)
class RecurrentLMState(State):
    """State of each layer."""

    layers: list[LayerState]  # tensors (rows, d_model)


class RecurrentLM(ProjectedModel):
    """Stacked recurrent layers over the target, after the source if it reads one."""

    Config = RecurrentLMConfig
    config: RecurrentLMConfig
    parts: ClassVar[Mapping[str, Part]] = {
        **ProjectedModel.parts,
        "source_stack": "encoder",
        "stack": "decoder",
    }

    def __init__(
        self, config: RecurrentLMConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        self.target_embedding = nn.Embedding(target_vocabulary, config.d_model)
        self.output = nn.Linear(config.d_model, target_vocabulary)
        self.source_embedding = (
            nn.Embedding(source_vocabulary, config.d_model) if config.reads_source else None
        )
        tie(config.embeddings, self.source_embedding, self.target_embedding, self.output)
        self.dropout = Dropout(config.dropout)
        self.stack = self._stack()
        self.source_stack = self._stack() if config.source_layers == "own" else None
        initialise_uniformly(self, config.d_model, config.initial_range)

    def _stack(self) -> RecurrentStack:
        config = self.config
        orders: list[Order] = ["forward"] * config.layers
        return RecurrentStack(config.recurrence, config.d_model, orders, config.dropout)

    def encode(self, source: Tensor, source_mask: Tensor) -> RecurrentLMMemory:
        """Read the source, or only count sentences."""
        if self.source_embedding is None:
            hidden = self.target_embedding.weight.new_empty(*source.shape, 0)
            zeros = hidden.new_zeros(len(source), self.config.d_model)
            parts = self.config.recurrence.state_parts
            return RecurrentLMMemory(hidden, source_mask, [[zeros] * parts] * self.config.layers)
        if self.config.source == "reversed":
            source = backwards(source, source_mask)
        embedded = self.dropout(self.source_embedding(source))
        hidden, ends = (self.source_stack or self.stack)(embedded, source_mask)
        return RecurrentLMMemory(hidden, source_mask, ends)

    def start(self, memory: Memory, beam: int = 1) -> RecurrentLMState:
        """The final state of the source, for ``beam`` rows per sentence."""
        assert isinstance(memory, RecurrentLMMemory)
        return RecurrentLMState(
            [[part.repeat_interleave(beam, 0) for part in layer] for layer in memory.first]
        )

    @override
    def decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, RecurrentLMState]:
        assert isinstance(state, RecurrentLMState)
        x, after = self.target_embedding(target), []
        for layer, past in zip(self.stack.layers, state.layers, strict=True):
            x, now = advance(layer, self.dropout(x), past)  # (rows, target, d_model)
            after.append(now)
        return self.dropout(x), RecurrentLMState(after)
