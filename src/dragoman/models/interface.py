"""The contract of every translation model, for any architecture.

Search and training use models only through this file.  One pass is

    memory = model.encode(source, source_mask)
    hidden, state = model.decode(target, memory, model.start(memory))
    scores = model.logits(hidden)

Teacher forcing gives ``decode`` the whole target.  A step of search gives it one position and the
state returned by the step before.  Both take the same code path.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeVar, cast, runtime_checkable

from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from dragoman.core.config import ComposedConfig
from dragoman.core.errors import ConfigError

Part = Literal["encoder", "decoder", "embeddings"]
"""The weights that may be copied from another model: the layers of one side, or the embeddings of
pieces and positions, including the output projection.
"""
Side = Literal["source", "target"]

MAX_LAYERS = 1000
"""The depth of the deepest Transformer (DeepNet, Wang et al. 2022, arXiv:2203.00555)."""


class FamilyConfig(ComposedConfig):
    """What the configurations of all families have in common.

    Sizes and choices of one layer form a section, which is defined beside that layer and is a field
    of the family, see :data:`dragoman.core.sections.Flat`.
    """

    family: str
    """Which family of models this is; in each family its name is the default and only value."""
    d_model: int = Field(512, ge=1)
    """Width of embeddings and of every sublayer's output."""

    @property
    def reads_source(self) -> bool:
        """Whether the model has a source; a language model learns from targets alone."""
        return True

    @property
    def writes_labels(self) -> bool:
        """Whether its target is a label from a fixed set instead of a text, as in a classifier."""
        return False

    @property
    def architecture(self) -> str:
        """Name of the architecture, within which families can copy each other's weights by part.

        They share names of settings, :meth:`common_settings`, and of weights,
        :meth:`TranslationModel.common_name`.
        """
        return self.family

    def common_settings(self) -> dict[str, Any]:
        """The settings under the architecture's names, as plain values."""
        return self.model_dump()

    @property
    def joint_setting(self) -> tuple[str, str] | None:
        """The setting that needs a joint vocabulary, and its alternative; None without any.

        One matrix serves both sides, or the decoder reads a source piece, its tag.
        """
        others = {"shared": "target", "inputs": "separate"}
        if (sharing := getattr(self, "embeddings", None)) in others:
            return f"model.embeddings: {sharing}", f"model.embeddings: {others[sharing]}"
        tags = getattr(self, "tags", None)
        if tags is not None and tags.moves:
            return f"model.language_tags: {tags.language_tags}", "model.language_tags: encoder"
        return None

    components: ClassVar[tuple[str, ...]] = ()
    """Fields that hold the configurations of other models, which this one is composed of."""

    @property
    def frozen_components(self) -> tuple[str, ...]:
        """The :attr:`components` that do not learn, so that their weights must be given."""
        return ()

    def check_vocabularies(self, source: int, target: int) -> None:
        """Check that vocabularies of these sizes can share one embedding matrix, if they must."""
        if self.joint_setting is not None and source != target:
            setting, other = self.joint_setting
            raise ConfigError(
                f"{setting} needs one vocabulary, found {source} source and {target} target "
                f"pieces; set vocabulary.joint: true or {other}"
            )

    @property
    def encoder_width(self) -> int | None:
        """Width of :meth:`TranslationModel.encoder_states`; None without a separate encoder."""
        return None

    @property
    def attention_layers(self) -> int:
        """Number of layers that :meth:`TranslationModel.decode_attending` returns weights of."""
        return 0

    @property
    def trains_at_random(self) -> bool:
        """Whether two training passes over one batch may differ, through dropout or noise in gates.

        A family without dropout settings is taken to differ in some other way.
        """
        learning = (getattr(self, n) for n in self.components if n not in self.frozen_components)
        if any(component.trains_at_random for component in learning):
            return True
        settings = list(_settings(self.model_dump(exclude=set(self.components))))
        rates = [value for name, value in settings if name.endswith("dropout")]
        mixtures = [value for name, value in settings if name == "mixture"]
        return any(rates) or not rates or any(mixtures)

    @property
    def has_separate_layers(self) -> bool:
        """Whether :meth:`TranslationModel.separate_layers` are all its layers."""
        return False

    @property
    def position_limit(self) -> int | None:
        """Maximum sentence length in pieces, including the end symbol; None: unlimited."""
        return None


def _settings(section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The names and values of a section and its nested sections."""
    for name, value in section.items():
        yield name, value
        if isinstance(value, dict):
            yield from _settings(value)


@dataclass(frozen=True)
class Memory:
    """The encoded source: read-only while decoding, axis 0 is sentences.

    It is neither reordered within a beam nor copied per beam; a family adds its own fields.
    """

    hidden: Tensor  # (batch, source, width): width is d_model unless the family says otherwise
    source_mask: Tensor  # (batch, source), True is a real token


@dataclass(frozen=True)
class State:
    """The state kept by decoding: a family's dataclass of tensors whose axis 0 is rows.

    There are sentences times beam rows; the beams of a sentence are adjacent.  Fields may also be
    lists of tensors or of dataclasses (one per layer), numbers that apply to all rows, and parts
    that are :class:`SelectsRows`.
    """


@runtime_checkable
class SelectsRows(Protocol):
    """A part of a state that reorders its rows itself, or later."""

    def selected(self, rows: Tensor) -> SelectsRows:
        """The chosen rows, as by :func:`select`."""


Selectable = TypeVar("Selectable")
ModelType = TypeVar("ModelType", bound="TranslationModel")


def select(state: Selectable, rows: Tensor) -> Selectable:
    """Reorder, repeat or drop rows of a :class:`State` (or sentences of a :class:`Memory`).

    Tensors follow the axis-0 rule, numbers pass through; ``rows`` are indices, ``(new_rows,)``.
    """
    if isinstance(state, Tensor):
        selected: Any = state.index_select(0, rows)
    elif isinstance(state, SelectsRows):
        selected = state.selected(rows)
    else:
        selected = rebuilt(state, lambda part: select(part, rows))
    return cast(Selectable, selected)


def rebuilt(whole: Any, change: Callable[[Any], Any]) -> Any:
    """A dataclass or list of changed parts; anything else unchanged."""
    if dataclasses.is_dataclass(whole) and not isinstance(whole, type):
        parts = {f.name: change(getattr(whole, f.name)) for f in dataclasses.fields(whole)}
        return type(whole)(**parts)
    return [change(part) for part in whole] if isinstance(whole, list) else whole


class TranslationModel(nn.Module, ABC):
    """Source ids to scores of target ids.

    Results are per position and per sentence: padding and batch neighbours change nothing.
    """

    Config: ClassVar[type[FamilyConfig]]
    """The configuration of this family."""

    config: FamilyConfig
    position_limit: int | None = None
    """Maximum number of positions in a source or target, including its end or begin symbol; None:
    unlimited."""
    reads_source: bool = True
    """False for a language model, whose :meth:`encode` uses only the number of sentences."""
    frozen: tuple[str, ...] = ()
    """Modules that :meth:`freeze` has frozen, such as ``language_model``."""

    parts: ClassVar[Mapping[str, Part]] = {
        "source_embedding": "embeddings",
        "target_embedding": "embeddings",
        "output": "embeddings",
        "encoder": "encoder",
        "decoder": "decoder",
    }
    """The part that the weights of each attribute belong to; a family adds its own."""

    def __init__(self, config: FamilyConfig | None = None, *vocabularies: int) -> None:
        """Set the properties that follow from the configuration, and from sizes of vocabularies.

        A family from another package may omit these and set ``config`` itself.
        """
        super().__init__()
        if config is not None:
            config.check_vocabularies(*vocabularies)
            self.config = config
            self.position_limit, self.reads_source = config.position_limit, config.reads_source

    @abstractmethod
    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        """Read the source.

        Args:
            source: ids ``(batch, source)``, each sentence closed by the end symbol, then padding.
            source_mask: ``(batch, source)``, True is a real token.
        """

    def encoder_states(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """Encoder outputs, one per piece, without anything that serves only a decoder.

        Returns:
            ``(batch, source, encoder_width)``; values in padding are meaningless.

        Raises:
            TypeError: this family has no separate encoder.
        """
        raise TypeError(f"{type(self).__name__} has no encoder")

    @abstractmethod
    def start(self, memory: Memory, beam: int = 1) -> State:
        """The state before the first target position, for ``beam`` rows per sentence."""

    @abstractmethod
    def decode(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Read further target positions.

        Args:
            target: input ids ``(rows, target)``; the very first position is the begin symbol.
            memory: of ``rows / beam`` sentences.
            state: returned by the previous call, or by :meth:`start`.

        Returns:
            Hidden vectors ``(rows, target, d_model)``, which :meth:`logits` takes, and the state
            after these positions.
        """

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """Scores before the softmax: ``(..., d_model)`` to ``(..., target_vocabulary)``."""

    @property
    def projection(self) -> nn.Linear | None:
        """The layer that :meth:`logits` applies, if it does nothing else; None otherwise.

        With this layer, search can compute the scores of selected pieces alone.
        """
        return None

    def freeze(self, *modules: str) -> None:
        """Keep the weights of some modules, given by name, fixed during training.

        Their parameters require no gradient, so optimizers skip them, but they are saved with the
        others.  The modules stay in evaluation mode, without dropout.
        """
        self.frozen = modules
        for name in modules:
            self.get_submodule(name).requires_grad_(False)
        self.train(self.training)

    def train(self: ModelType, mode: bool = True) -> ModelType:
        """Set training mode, except in frozen modules."""
        super().train(mode)
        for name in self.frozen:
            self.get_submodule(name).eval()
        return self

    def part_of(self, name: str) -> Part:
        """The part of a parameter or persistent buffer; components keep those of their family."""
        first, _, rest = name.partition(".")
        if (component := self._component(first)) is not None:
            return component.part_of(rest)
        return self.parts[first]

    def _component(self, name: str) -> TranslationModel | None:
        """The model that this one is composed of under this name, if any."""
        return getattr(self, name) if name in self.config.components else None

    def common_name(self, name: str) -> str:
        """The name of a weight that has the same meaning in all families of an architecture."""
        return name

    def side_of(self, name: str) -> Side | None:
        """The side whose pieces index the rows of the weight ``name``, if any."""
        first, _, rest = name.partition(".")
        if (component := self._component(first)) is not None:
            return component.side_of(rest)
        if name == "source_embedding.weight":
            return "source"
        return "target" if first == "output" or name == "target_embedding.weight" else None

    def separate_layers(self) -> Iterator[nn.Module]:
        """The layers whose weights are used only within calls of the layer itself.

        Training may repeat such a call, or fetch the weights just before it.  A layer may list in
        ``entrances`` other methods that are called from outside and use its weights.  A family
        whose :attr:`FamilyConfig.has_separate_layers` is False yields none.
        """
        yield from ()

    def source_attention(self) -> Iterator[nn.Parameter]:
        """The weights of attention over the source that :meth:`decode` uses for nothing else."""
        yield from ()

    def figures(self) -> dict[str, float]:
        """Figures of a family for the training log, over the passes since the last call.

        With several processes, the leader logs those of its own share of the passes.
        """
        return {}

    def auxiliary_loss(self, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """A loss that training minimises in addition to the target's, per target position.

        It belongs to the last pass in training mode, whose masks are given, and can be read once.

        Returns:
            A scalar with gradient; None if the family has no such loss, or outside training.
        """
        return None

    def has_attention(self) -> bool:
        """Whether it has attention over the source, which :meth:`decode_attending` returns."""
        return type(self).decode_attending is not TranslationModel.decode_attending

    def attention_weights(self, target: Tensor, memory: Memory) -> Tensor:
        """Attention over the source: ``(batch, layers, heads, target, source)``."""
        return self.decode_attending(target, memory)[1]

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Read a whole target and return its attention over the source: one pass, with gradients.

        ``target`` has input ids ``(batch, target)``; ``layer`` is an index, from 0, among the
        layers with attention over the source, or None for all.

        Returns:
            Hidden vectors as returned by :meth:`decode`, and weights that sum to one over the
            source, before dropout: ``(batch, layers, heads, target, source)``.

        Raises:
            TypeError: this family has no attention over the source.
        """
        raise TypeError(f"{type(self).__name__} has no attention over the source")


class ProjectedModel(TranslationModel):
    """A model whose scores are one linear layer of its hidden vectors, ``output``."""

    output: nn.Linear

    @override
    def logits(self, hidden: Tensor) -> Tensor:
        return self.output(hidden)

    @property
    @override
    def projection(self) -> nn.Linear:
        return self.output
