"""Classifiers: an encoder of any family, pooling over its pieces, and one projection to labels.

With ``h_j`` the encoder's state of piece ``j``, the end symbol's included, a sentence is

    mean:       s = (1/n) sum_j h_j
    attention:  s = sum_j a_j h_j,  a = softmax_j(v . tanh(W h_j + b))
    first:      s = h_1

and ``p = softmax(W_o s + b_o)``.  Attention follows Yang et al. 2016, "Hierarchical Attention
Networks for Document Classification", section 2.2, equations 5 to 7.  The first piece follows
Devlin et al. 2019, "BERT" (arXiv:1810.04805), section 3, who put a symbol there for this purpose.

To the rest of the program a classifier is a translation model with the labels as its target
vocabulary and one label as its target (docs/decisions/043-classifiers.md).  The first position
scores labels.  Every later position scores the same learned vector, which marks the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from dragoman.models.interface import (
    FamilyConfig,
    Memory,
    Part,
    State,
    TranslationModel,
)
from dragoman.models.layers.attention import mask_bias
from dragoman.models.layers.dropout import Dropout
from dragoman.models.registry import FAMILIES, ComponentConfig, width_as_of


class ClassifierConfig(FamilyConfig):
    """The encoder of a model, pooled, and a projection to labels."""

    components: ClassVar[tuple[str, ...]] = ("backbone",)

    family: Literal["classifier"] = "classifier"
    """Which family of models this is."""
    d_model: int = Field(512, ge=1)
    """Width of the encoder's states; no need to set it."""
    backbone: ComponentConfig
    """Model whose encoder is used, of any family that has one: the model or run that it starts
    from, or its family and sizes to learn from scratch. Settings of its decoder are not read."""
    pooling: Literal["mean", "attention", "first"] = "mean"
    """Vector of the sentence: the mean of the encoder's states; their mean weighted by learned
    attention (Yang et al. 2016); or the first state (Devlin et al. 2019), which may be that of a
    tag."""
    train: Literal["all", "head"] = "all"
    """Parts that learn: all, or only the head, which follows the encoder. The encoder then needs
    trained weights."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on the pooled state. An encoder that does not learn has none."""

    @model_validator(mode="before")
    @classmethod
    def _take_width(cls, values: Any) -> Any:
        """Set the width to that of the encoder's states."""
        return width_as_of(values, "backbone", lambda own: own.encoder_width or own.d_model)

    def conflicts(self) -> Iterator[str]:
        """Yield a model without an encoder, and a width that differs from the encoder's."""
        width = self.backbone.encoder_width
        if width is None:
            yield (
                f"backbone: the family {self.backbone.family} has no encoder; name a model that "
                "translates, of another family"
            )
        elif self.d_model != width:
            yield f"d_model: {self.d_model} is not the {width} of backbone; leave it out"

    @property
    def writes_labels(self) -> bool:
        """True: each target is a label."""
        return True

    @property
    def frozen_components(self) -> tuple[str, ...]:
        """The encoder, unless it learns."""
        return self.components if self.train == "head" else ()

    @property
    def attention_layers(self) -> int:
        """1 if pooling uses attention, else 0."""
        return int(self.pooling == "attention")

    @property
    def position_limit(self) -> int | None:
        """The encoder's limit."""
        return self.backbone.position_limit


@dataclass(frozen=True)
class ClassifierMemory(Memory):
    """The encoder's states, and their pooled vector and weights."""

    pooled: Tensor  # (batch, d_model)
    weights: Tensor  # (batch, source): each piece's share of ``pooled``


@dataclass(frozen=True)
class ClassifierState(State):
    """The number of target positions read."""

    length: int  # target positions read so far


class Pooling(nn.Module, ABC):
    """Pools states of pieces to one state per sentence, their mean weighted by ``weights``."""

    @abstractmethod
    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """The share of each of ``(batch, source, d_model)``, ``(batch, source)``; 0 in padding."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Pool ``(batch, source, d_model)``; True in ``mask`` is a real token.

        Returns:
            ``(batch, d_model)``, and the weights ``(batch, source)``.
        """
        weights = self.weights(states, mask)
        # Padding may hold infinity, and 0 times infinity is NaN.
        kept = states.masked_fill(~mask.unsqueeze(2), 0)
        return (weights.unsqueeze(1) @ kept).squeeze(1), weights


class MeanPooling(Pooling):
    """All pieces count the same."""

    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """``1 / n``."""
        return mask.to(states.dtype) / mask.sum(1, keepdim=True)


class FirstPooling(Pooling):
    """The first piece alone counts."""

    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """1 and zeros."""
        return torch.zeros_like(states[..., 0]).index_fill_(1, mask.new_zeros(1).long(), 1)


class AttentionPooling(Pooling):
    """``softmax_j(v . tanh(W h_j + b))`` (Yang et al. 2016, equations 5 and 6)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.query = nn.Linear(width, 1, bias=False)
        nn.init.xavier_uniform_(self.hidden.weight)
        nn.init.zeros_(self.hidden.bias)
        nn.init.xavier_uniform_(self.query.weight)

    @override
    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        scores = self.query(self.hidden(states).tanh()).squeeze(2)  # (batch, source)
        return (scores + mask_bias(mask, scores.dtype)).softmax(-1)


def _pooling(config: ClassifierConfig) -> Pooling:
    if config.pooling == "attention":
        return AttentionPooling(config.d_model)
    return MeanPooling() if config.pooling == "mean" else FirstPooling()


class ClassifierModel(TranslationModel):
    """The encoder of a model, a pooling of its states, and a projection to labels.

    Labels are the pieces of the target vocabulary, which also has the usual special symbols.
    """

    Config = ClassifierConfig
    config: ClassifierConfig
    parts: ClassVar[Mapping[str, Part]] = {
        **TranslationModel.parts,
        "pooling": "decoder",
        "end": "decoder",
    }

    def __init__(
        self, config: ClassifierConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        inner = config.backbone
        # It never sees a target, so one embedding matrix may serve its two sides.
        whole = FAMILIES[inner.family](inner, source_vocabulary, source_vocabulary)
        self.backbone = _without_decoder(whole)
        self.pooling = _pooling(config)
        self.dropout = Dropout(config.dropout)
        self.end = nn.Parameter(torch.empty(config.d_model))
        self.output = nn.Linear(config.d_model, target_vocabulary)
        nn.init.normal_(self.end)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        self.freeze(*config.frozen_components)

    def encoder_states(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """The encoder's outputs."""
        return self.backbone.encoder_states(source, source_mask)

    def encode(self, source: Tensor, source_mask: Tensor) -> ClassifierMemory:
        """Read the source and pool it."""
        states = self.encoder_states(source, source_mask)
        pooled, weights = self.pooling(states, source_mask)
        return ClassifierMemory(states, source_mask, self.dropout(pooled), weights)

    def start(self, memory: Memory, beam: int = 1) -> ClassifierState:
        """The state before the label."""
        return ClassifierState(0)

    def decode(
        self, target: Tensor, memory: Memory, state: State
    ) -> tuple[Tensor, ClassifierState]:
        """The pooled state at the first position, and the end's vector at all others."""
        assert isinstance(memory, ClassifierMemory)
        assert isinstance(state, ClassifierState)
        rows, length = target.shape
        ends = self.end.expand(rows, length, -1)
        hidden = ends
        if state.length == 0:
            pooled = memory.pooled.repeat_interleave(rows // len(memory.pooled), 0)
            hidden = torch.cat([pooled.unsqueeze(1), ends[:, 1:]], dim=1)
        return hidden, ClassifierState(state.length + length)

    def has_attention(self) -> bool:
        """Whether pooling uses attention."""
        return self.config.pooling == "attention"

    def decode_attending(
        self, target: Tensor, memory: Memory, layer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """The pooling weights, repeated for every position; one layer with one head."""
        if not self.has_attention():
            raise TypeError(
                f"{type(self).__name__} with pooling: {self.config.pooling} has no attention over "
                "the source"
            )
        assert isinstance(memory, ClassifierMemory)
        hidden, _ = self.decode(target, memory, self.start(memory))
        weights = memory.weights[:, None, None, None]  # (batch, 1, 1, 1, source)
        return hidden, weights.expand(-1, 1, 1, target.shape[1], -1)

    def logits(self, hidden: Tensor) -> Tensor:
        """``(..., d_model)`` to ``(..., target_vocabulary)``."""
        return cast(Tensor, self.output(hidden))

    def auxiliary_loss(self, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """The encoder's auxiliary loss."""
        return self.backbone.auxiliary_loss(source_mask, target_mask)

    def figures(self) -> dict[str, float]:
        """The encoder's figures."""
        return self.backbone.figures()


def _without_decoder(model: TranslationModel) -> TranslationModel:
    """Remove the modules of ``model`` that only a target reaches, so that no weight is unused."""
    for name, _ in list(model.named_children()):
        reads_target = name in {"target_embedding", "output"}
        if reads_target or model.parts.get(name) == "decoder":
            setattr(model, name, nn.ModuleList())
    return model
