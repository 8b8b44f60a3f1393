"""Deep fusion: a translation model whose output layer also reads a language model's hidden state.

Gulcehre et al. 2015, "On Using Monolingual Corpora in Neural Machine Translation"
(arXiv:1503.03535), section 4.2.  At each position, with the hidden vector ``s`` of the translation
model and ``l`` of the language model,

    g = sigmoid(v . l + b)
    h = s + W_o relu(W_h [s; g l] + b_h) + b_o

and ``h`` takes the place of ``s`` in the translation model's projection to the vocabulary.  The
paper's hidden layer before the softmax is a maxout layer that its decoder has anyway.  The decoders
here have none, so the hidden layer is added to ``s``.  ``W_o`` is zero at first, so that scores are
then those of the translation model alone.  ``b`` begins at -1, so that the gate is 0.27 at first
(section 4.2.1).

``train`` selects the weights that learn: as in the paper, the output alone, or the translation
model as well.  The latter may then learn from scratch, beside the language model's knowledge, as in
Sriram et al. 2017, "Cold Fusion" (arXiv:1708.06426).  Their gate has a value per dimension and
reads both models, and their language model gives logits instead of a hidden state.

This family is composed of two others, which it takes from the registry because it uses them only
through their interface.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from dragoman.models.interface import (
    FamilyConfig,
    Memory,
    Part,
    State,
    TranslationModel,
)
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.tally import Tally
from dragoman.models.registry import FAMILIES, ComponentConfig, NamedModelConfig, width_as_of

_FIRST_GATE_BIAS = -1.0


class DeepFusionConfig(FamilyConfig):
    """A translation model and a language model, joined before the output layer."""

    components: ClassVar[tuple[str, ...]] = ("translation", "language_model")

    family: Literal["deep_fusion"] = "deep_fusion"
    """Which family of models this is."""
    d_model: int = Field(512, ge=1)
    """Width of the translation model; no need to set it."""
    translation: ComponentConfig
    """Translation model, of any family with a source: the model or run that it starts from, or its
    family and sizes to learn from scratch."""
    language_model: ComponentConfig
    """Language model, of any family without a source: a model or run. It does not learn."""
    train: Literal["fusion", "translation"] = "fusion"
    """Parts that learn: the gate, the hidden layer that joins the two models and an output
    projection of its own (fusion, Gulcehre et al. 2015); or also the whole translation model
    (translation)."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on the hidden layer that joins the two. Models that do not learn have none."""

    @model_validator(mode="before")
    @classmethod
    def _take_width(cls, values: Any) -> Any:
        """Set the width to that of the translation model."""
        return width_as_of(values, "translation", lambda config: config.d_model)

    def conflicts(self) -> Iterator[str]:
        """Yield models of the wrong kind, and a width that differs from theirs."""
        if not self.translation.reads_source:
            yield "translation: a model that reads no source; name a translation model"
        named = isinstance(self.language_model, NamedModelConfig)
        if self.language_model.reads_source and not named:
            yield "language_model: a model that reads a source; name a language model"
        if self.translation.components or self.translation.writes_labels:
            yield (
                f"translation: a model of the family {self.translation.family}; name a "
                "translation model of another family"
            )
        if self.d_model != self.translation.d_model:
            yield (
                f"d_model: {self.d_model} is not the {self.translation.d_model} of translation; "
                "leave it out"
            )

    @property
    def frozen_components(self) -> tuple[str, ...]:
        """The language model, and the translation model unless it learns."""
        return self.components if self.train == "fusion" else ("language_model",)

    @property
    def joint_setting(self) -> tuple[str, str] | None:
        """The joint setting of the translation model."""
        return self.translation.joint_setting

    @property
    def attention_layers(self) -> int:
        """Number of attention layers in the translation model."""
        return self.translation.attention_layers

    @property
    def position_limit(self) -> int | None:
        """The lower of the two models' limits."""
        limits = [self.translation.position_limit, self.language_model.position_limit]
        return min((limit for limit in limits if limit is not None), default=None)


@dataclass(frozen=True)
class DeepFusionMemory(Memory):
    """The memories of the two models; the language model's has no source."""

    translation: Memory
    language_model: Memory


@dataclass(frozen=True)
class DeepFusionState(State):
    """The states of the two models."""

    translation: State
    language_model: State


class Fusion(nn.Module):
    """Joins the hidden vectors of two models through a gate; at first it returns the first vectors.

    ``width`` is that of the first vectors and of the result, ``other`` that of the second ones.
    """

    def __init__(self, width: int, other: int, dropout: float) -> None:
        super().__init__()
        self.gate = nn.Linear(other, 1)
        self.hidden = nn.Linear(width + other, width)
        self.output = nn.Linear(width, width)
        self.dropout = Dropout(dropout)
        nn.init.zeros_(self.gate.weight)
        nn.init.constant_(self.gate.bias, _FIRST_GATE_BIAS)
        nn.init.xavier_uniform_(self.hidden.weight)
        for parameter in (self.hidden.bias, self.output.weight, self.output.bias):
            nn.init.zeros_(parameter)

    def forward(self, own: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        """Join ``(..., width)`` and ``(..., other)``.

        Returns:
            ``(..., width)``, and the gates, between 0 and 1, ``(...)``.
        """
        gate = self.gate(other).sigmoid()  # (..., 1)
        hidden = functional.relu(self.hidden(torch.cat([own, gate * other], dim=-1)))
        return own + self.output(self.dropout(hidden)), gate.squeeze(-1)


class DeepFusion(TranslationModel):
    """A translation model that also reads the hidden state of a language model."""

    Config = DeepFusionConfig
    config: DeepFusionConfig
    parts: ClassVar[Mapping[str, Part]] = {"fusion": "decoder"}

    def __init__(
        self, config: DeepFusionConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        own, other = config.translation, config.language_model
        self.translation = FAMILIES[own.family](own, source_vocabulary, target_vocabulary)
        self.language_model = FAMILIES[other.family](other, target_vocabulary, target_vocabulary)
        self.fusion = Fusion(own.d_model, other.d_model, config.dropout)
        self.freeze(*config.frozen_components)
        if config.train == "fusion":
            _learn_output(self.translation)
        self._gates: Tensor | None = None
        self.gates_seen = Tally()
        """The sum of all gates, and their number."""

    def source_attention(self) -> Iterator[nn.Parameter]:
        """The translation model's weights."""
        yield from self.translation.source_attention()

    def encode(self, source: Tensor, source_mask: Tensor) -> DeepFusionMemory:
        """Read the source.

        The language model only counts sentences, so it gets one piece of each.
        """
        memory = self.translation.encode(source, source_mask)
        nothing = self.language_model.encode(source[:, :1], source_mask[:, :1])
        return DeepFusionMemory(memory.hidden, memory.source_mask, memory, nothing)

    def start(self, memory: Memory, beam: int = 1) -> DeepFusionState:
        """Both models' states, for ``beam`` rows per sentence."""
        assert isinstance(memory, DeepFusionMemory)
        return DeepFusionState(
            self.translation.start(memory.translation, beam),
            self.language_model.start(memory.language_model, beam),
        )

    @override
    def decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, DeepFusionState]:
        assert isinstance(memory, DeepFusionMemory)
        assert isinstance(state, DeepFusionState)
        own, now = self.translation.decode(target, memory.translation, state.translation)
        other, later = self.language_model.decode(
            target, memory.language_model, state.language_model
        )
        return self._joined(own, other), DeepFusionState(now, later)

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Weights of the translation model."""
        assert isinstance(memory, DeepFusionMemory)
        own, weights = self.translation.decode_attending(target, memory.translation, layer)
        nothing = memory.language_model
        other, _ = self.language_model.decode(target, nothing, self.language_model.start(nothing))
        return self._joined(own, other), weights

    def _joined(self, own: Tensor, other: Tensor) -> Tensor:
        hidden, gates = self.fusion(own, other)  # (rows, target, d_model) and (rows, target)
        if self.training:
            self._gates = gates.detach()
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """``(..., d_model)`` to ``(..., target_vocabulary)``."""
        return self.translation.logits(hidden)

    @property
    def projection(self) -> nn.Linear | None:
        """The projection of the translation model."""
        return self.translation.projection

    def has_attention(self) -> bool:
        """Whether the translation model has attention."""
        return self.translation.has_attention()

    def auxiliary_loss(self, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """The loss of the translation model.

        Gates are counted here because only this method gets the mask of real positions.
        """
        if self._gates is not None:
            gates, self._gates = self._gates[target_mask].double(), None
            self.gates_seen.add(torch.stack([gates.sum(), gates.new_tensor(len(gates))]))
        return self.translation.auxiliary_loss(source_mask, target_mask)

    def figures(self) -> dict[str, float]:
        """The mean gate, and the translation model's."""
        sums = self.gates_seen.take()
        own = {} if sums is None else {"fusion_gate": (sums[0] / sums[1]).item()}
        return own | self.translation.figures()


def _learn_output(model: TranslationModel) -> None:
    """Let the output projection of a frozen model learn, apart from embeddings that it shares."""
    output = getattr(model, "output", None)
    if not isinstance(output, nn.Module):
        return
    own = {id(parameter) for parameter in output.parameters()}
    others = model.named_parameters(remove_duplicate=False)
    shared = {id(p) for name, p in others if id(p) in own and not name.startswith("output.")}
    for module in list(output.modules()):
        for name, parameter in list(module.named_parameters(recurse=False)):
            if id(parameter) in shared:
                setattr(module, name, nn.Parameter(parameter.detach().clone()))
    output.requires_grad_(True)
