"""Scorers over a shortlist of the target vocabulary, so that each step costs less.

A small model spends most of its time on the scores of all pieces, although a sentence needs few.
Search therefore uses places in a list of pieces instead of ids, and only these scorers map places
to pieces.  The list is in ascending order and begins with the symbols.  So symbols keep their ids,
and the lowest id still wins among equal scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.search.scorer import Ensemble, FusedScorer, ModelScorer, Scorer


@dataclass(frozen=True)
class Choices:
    """The pieces that the outputs of a batch may have.

    A sentence's probabilities are over its own pieces alone, so that its neighbours do not matter.
    """

    pieces: Tensor  # (choices,): ids, ascending, the symbols first
    bias: Tensor  # (sentences, choices): 0, or -inf for pieces of other sentences

    @classmethod
    def of(cls, allowed: Tensor) -> Choices:
        """The choices where ``allowed`` ``(sentences, vocabulary)`` is True."""
        pieces = allowed.any(0).nonzero().flatten()
        bias = torch.zeros((len(allowed), len(pieces)), device=allowed.device)
        return cls(pieces, bias.masked_fill_(~allowed[:, pieces], float("-inf")))

    def places(self, ids: Sequence[int]) -> list[int]:
        """Places of pieces among the choices; other pieces are left out."""
        wanted = torch.tensor(list(ids), dtype=torch.int64, device=self.pieces.device)
        places = torch.searchsorted(self.pieces, wanted).clamp(max=len(self.pieces) - 1)
        found: list[int] = places[self.pieces[places] == wanted].tolist()
        return found


@dataclass(frozen=True)
class ShortlistedMemory:
    """A model's memory of the source, and the pieces that each sentence may use."""

    of_model: Any
    bias: Tensor  # (sentences, choices)


class ShortlistedScorer:
    """One translation model, restricted to some pieces.

    Args:
        model: the translation model.
        choices: the pieces, for the sentences that will be encoded.

    Raises:
        ConfigError: the model's scores cannot be computed for some pieces alone.
    """

    def __init__(self, model: TranslationModel, choices: Choices) -> None:
        if (projection := model.projection) is None:
            raise ConfigError(
                f"{type(model).__name__} has no output projection of which a shortlist could take "
                "a part; leave out the shortlist"
            )
        self.model, self._choices = model, choices
        self._weight = projection.weight[choices.pieces]
        self._bias = None if projection.bias is None else projection.bias[choices.pieces]

    @property
    def position_limit(self) -> int | None:
        """The model's."""
        return self.model.position_limit

    def encode(self, source: Tensor, source_mask: Tensor) -> ShortlistedMemory:
        """The model's memory of the source, and the choices of each sentence."""
        return ShortlistedMemory(self.model.encode(source, source_mask), self._choices.bias)

    def start(self, memory: ShortlistedMemory, beam: int = 1) -> Any:
        """The model's state before the first position."""
        return self.model.start(memory.of_model, beam)

    def step(self, target: Tensor, memory: ShortlistedMemory, state: Any) -> tuple[Tensor, Any]:
        """Decode, project to the choices and normalise over them; see :meth:`Scorer.step`."""
        ids = self._choices.pieces[target]
        hidden, state = self.model.decode(ids, memory.of_model, state)
        logits = functional.linear(hidden, self._weight, self._bias)  # (rows, positions, choices)
        wide = torch.promote_types(logits.dtype, torch.float32)
        beam = len(logits) // len(memory.bias)
        scores = logits.to(wide).unflatten(0, (-1, beam)) + memory.bias[:, None, None]
        return torch.log_softmax(scores.flatten(0, 1), dim=-1), state

    def attention(self, target: Tensor, memory: ShortlistedMemory) -> Tensor:
        """The model's attention; see :meth:`Scorer.attention`."""
        return ModelScorer(self.model).attention(self._choices.pieces[target], memory.of_model)


def shortlisted(scorer: Scorer, choices: Choices) -> Scorer:
    """A scorer of the same kind, made of models that are restricted to some pieces.

    Raises:
        ConfigError: it is a scorer of your own, or one of its models cannot be restricted.
    """
    if isinstance(scorer, ModelScorer):
        return ShortlistedScorer(scorer.model, choices)
    if isinstance(scorer, Ensemble):
        parts = [shortlisted(part, choices) for part in scorer.scorers]
        return Ensemble(parts, scorer.weights, scorer.kind)
    if isinstance(scorer, FusedScorer):
        translation, language_model = (
            shortlisted(part, choices) for part in (scorer.translation, scorer.language_model)
        )
        return FusedScorer(translation, language_model, scorer.weight)
    raise ConfigError(
        f"a shortlist restricts models, not a scorer like {type(scorer).__name__}; leave it out"
    )
