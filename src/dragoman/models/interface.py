"""The contract of every translation model, whatever its architecture.

Search and training know this file and nothing else of a model.  One pass is

    memory = model.encode(source, source_mask)
    hidden, state = model.decode(target, memory, model.start(memory))
    scores = model.logits(hidden)

Teacher forcing gives ``decode`` the whole target, a step of search gives it one position and
the state that came back: there is one code path.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field
from torch import Tensor, nn

from dragoman.core.config import ComposedConfig
from dragoman.core.errors import ConfigError

Part = Literal["encoder", "decoder", "embeddings"]
"""What weights may be taken over from another model: layers of either side, or what belongs to
pieces and positions, the output projection among them."""
Side = Literal["source", "target"]

MAX_LAYERS = 1000
"""As many as the deepest Transformer has (DeepNet, Wang et al. 2022, arXiv:2203.00555)."""


class FamilyConfig(ComposedConfig):
    """What the configuration of every family has, beside its own sizes.

    Sizes and choices that belong to one layer are a section beside that layer, and a field of
    the family, see :data:`dragoman.core.sections.Flat`.
    """

    family: str
    """Which family of models this is; each has its name as the default and the only value."""
    d_model: int = Field(512, ge=1)
    """Width of embeddings and of every sublayer's output."""

    @property
    def reads_source(self) -> bool:
        """Whether there is a source: a language model has none, and is trained on targets alone."""
        return True

    @property
    def needs_joint_vocabulary(self) -> bool:
        """Whether source and target must share one vocabulary: one matrix serves both.

        That is what ``embeddings: shared`` asks for, in the families that have the choice.
        """
        return getattr(self, "embeddings", None) == "shared"

    def check_vocabularies(self, source: int, target: int) -> None:
        """Whether vocabularies of so many pieces fit this model.

        Raises:
            ConfigError: one embedding matrix is to serve both and their sizes differ.
        """
        if self.needs_joint_vocabulary and source != target:
            raise ConfigError(
                f"model.embeddings: shared needs one vocabulary, found {source} source and "
                f"{target} target pieces; set vocabulary.joint: true or model.embeddings: target"
            )

    @property
    def attention_layers(self) -> int:
        """How many layers look at the source, as :meth:`TranslationModel.decode_attending` does."""
        return 0

    @property
    def position_limit(self) -> int | None:
        """Longest sentence that can be read, in pieces with the end symbol; None: any."""
        return None


@dataclass(frozen=True)
class Memory:
    """What the source gives: read-only while decoding, axis 0 is sentences.

    It is never reordered inside a beam and not copied per beam; a family adds its own fields.
    """

    hidden: Tensor  # (batch, source, width), which is d_model or what the family says
    source_mask: Tensor  # (batch, source), True is a real token


@dataclass(frozen=True)
class State:
    """What decoding adds: a family's dataclass of tensors whose axis 0 is rows.

    Rows are sentences times beam, a sentence's beams adjacent.  Fields may also be lists of
    tensors or of dataclasses (one a layer), and numbers that hold for all rows alike.
    """


def fixed_tensors(model: nn.Module) -> dict[str, Tensor]:
    """What is saved with a model's parameters and never learned: its persistent buffers."""
    saved = model.state_dict().keys()
    return {name: buffer for name, buffer in model.named_buffers() if name in saved}


Selectable = TypeVar("Selectable")


def select(state: Selectable, rows: Tensor) -> Selectable:
    """Reorder, repeat or drop rows of a :class:`State` (or sentences of a :class:`Memory`).

    Args:
        state: a dataclass, list or tensor that follows the axis-0 rule; numbers pass through.
        rows: indices to keep, ``(new_rows,)``.
    """
    selected: Any = state
    if isinstance(state, Tensor):
        selected = state.index_select(0, rows)
    elif dataclasses.is_dataclass(state) and not isinstance(state, type):
        values = {f.name: select(getattr(state, f.name), rows) for f in dataclasses.fields(state)}
        selected = type(state)(**values)
    elif isinstance(state, list):
        selected = [select(part, rows) for part in state]
    kept: Selectable = selected
    return kept


class TranslationModel(nn.Module, ABC):
    """Source ids to scores of target ids.

    Every method is per position and per sentence: padding and batch neighbours change nothing.
    """

    Config: ClassVar[type[FamilyConfig]]
    """What configures this family."""

    position_limit: int | None = None
    """Most positions of a source or target that can be read, those of its end or begin symbol
    among them; None: any number."""

    reads_source: bool = True
    """False for a language model: of what :meth:`encode` is given, only the number of sentences
    counts."""

    parts: ClassVar[Mapping[str, Part]] = {
        "source_embedding": "embeddings",
        "target_embedding": "embeddings",
        "output": "embeddings",
        "encoder": "encoder",
        "decoder": "decoder",
    }
    """Of each attribute with weights, the part that these belong to; a family adds its own."""

    @abstractmethod
    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        """Read the source.

        Args:
            source: ids ``(batch, source)``, each sentence closed by the end symbol, then padding.
            source_mask: ``(batch, source)``, True is a real token.
        """

    @abstractmethod
    def start(self, memory: Memory, beam: int = 1) -> State:
        """The state before the first target position, for ``beam`` rows a sentence."""

    @abstractmethod
    def decode(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Read further target positions.

        Args:
            target: input ids ``(rows, target)``; the first position ever is the begin symbol.
            memory: of ``rows / beam`` sentences.
            state: what came back from the call before, or from :meth:`start`.

        Returns:
            Hidden vectors ``(rows, target, d_model)``, to be given to :meth:`logits`, and the
            state after these positions.
        """

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """Scores before the softmax: ``(..., d_model)`` to ``(..., target_vocabulary)``."""

    @classmethod
    def part_of(cls, name: str) -> Part:
        """The part that the weight ``name`` belongs to, a parameter or what is saved with them."""
        return cls.parts[name.partition(".")[0]]

    @staticmethod
    def side_of(name: str) -> Side | None:
        """Whose pieces the rows of the weight ``name`` belong to, if it has one for each."""
        if name == "source_embedding.weight":
            return "source"
        output = name.partition(".")[0] == "output"
        return "target" if output or name == "target_embedding.weight" else None

    def figures(self) -> dict[str, float]:
        """What a family wants to have in the log of training, of the passes since last asked.

        Names are those of the log, beside ``loss`` and the like; nothing unless overridden.  Of
        several processes the leading one is asked, for its own share of the passes.
        """
        return {}

    def auxiliary_loss(self, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """What training minimises beside the loss of the target, for each target position.

        It is of the last pass in training mode, which may be asked once.

        Args:
            source_mask: ``(batch, source)`` of that pass, True is a real token.
            target_mask: ``(batch, target)`` of that pass, True is a real token.

        Returns:
            A scalar with gradient; None if there is nothing, or outside of training.
        """
        return None

    @classmethod
    def has_attention(cls) -> bool:
        """Whether there is attention over the source, for :meth:`decode_attending` to show."""
        return cls.decode_attending is not TranslationModel.decode_attending

    def attention_weights(self, target: Tensor, memory: Memory) -> Tensor:
        """Where each target position looks: ``(batch, layers, heads, target, source)``.

        Raises:
            TypeError: this family has no attention over the source.
        """
        return self.decode_attending(target, memory)[1]

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Read a whole target, and tell where each position looks: one pass, with gradients.

        Args:
            target: input ids ``(batch, target)``.
            memory: of ``batch`` sentences.
            layer: which of the layers that look at the source is told, from 0; None for all.

        Returns:
            Hidden vectors as :meth:`decode` gives them, and weights that sum to one over the
            source, before dropout: ``(batch, layers, heads, target, source)``.

        Raises:
            TypeError: this family has no attention over the source.
        """
        raise TypeError(f"{type(self).__name__} has no attention over the source")
