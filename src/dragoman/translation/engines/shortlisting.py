"""Searching among the pieces of a shortlist, so that each step costs less.

A small model spends most of its time on the scores of all pieces, although a sentence needs few.
Search therefore uses places in a list of pieces instead of ids, and only the scorers here map
places to pieces.  The list is in ascending order and begins with the symbols.  So symbols keep
their ids, and the lowest id still wins among equal scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.saved.shortlist import Shortlist
from dragoman.search import (
    Ensemble,
    FusedScorer,
    Hypothesis,
    ModelScorer,
    Scorer,
    SearchConfig,
    search,
)
from dragoman.search.degenerate import Bounds
from dragoman.search.whole_characters import ByteSymbols
from dragoman.text.inline_tags import InlineTags


def check_shortlisted(models: Sequence[TranslationModel], inline_tags: InlineTags | None) -> None:
    """Check that a shortlist can restrict the outputs of models.

    Raises:
        ConfigError: it cannot.
    """
    if not models[0].reads_source:
        raise ConfigError(
            "shortlist: a language model reads no source that pieces could be listed for"
        )
    if inline_tags is not None:
        raise ConfigError(
            "shortlist: these models write the inline tags of their source, which a shortlist does "
            "not know; leave it out"
        )


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


class ShortlistedScorer(Scorer):
    """One translation model, restricted to some pieces of the sentences that will be encoded.

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
    @override
    def position_limit(self) -> int | None:
        return self.model.position_limit

    @override
    def encode(self, source: Tensor, source_mask: Tensor) -> ShortlistedMemory:
        return ShortlistedMemory(self.model.encode(source, source_mask), self._choices.bias)

    @override
    def start(self, memory: ShortlistedMemory, beam: int = 1) -> Any:
        return self.model.start(memory.of_model, beam)

    @override
    def step(self, target: Tensor, memory: ShortlistedMemory, state: Any) -> tuple[Tensor, Any]:
        ids = self._choices.pieces[target]
        hidden, state = self.model.decode(ids, memory.of_model, state)
        logits = functional.linear(hidden, self._weight, self._bias)  # (rows, positions, choices)
        wide = torch.promote_types(logits.dtype, torch.float32)
        beam = len(logits) // len(memory.bias)
        scores = logits.to(wide).unflatten(0, (-1, beam)) + memory.bias[:, None, None]
        return torch.log_softmax(scores.flatten(0, 1), dim=-1), state

    @override
    def attention(self, target: Tensor, memory: ShortlistedMemory) -> Tensor:
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


class ShortlistedSearch:
    """Searches a batch among the pieces that its sources allow."""

    def __init__(self, scorer: Scorer, shortlist: Shortlist, pieces: int) -> None:
        self._scorer, self._shortlist, self._pieces = scorer, shortlist, pieces

    def search(
        self,
        sources: Sequence[Sequence[int]],
        padded: tuple[Tensor, Tensor],
        config: SearchConfig,
        *,
        prefixes: Sequence[Sequence[int]] | None,
        never: Sequence[int],
        numbers: Sequence[int],
        bounds: Sequence[Bounds] | None,
        characters: ByteSymbols | None = None,
    ) -> list[list[Hypothesis]]:
        """Search as :func:`dragoman.search.search` does.

        ``sources`` are the ids of each sentence, ``padded`` these as a tensor, and its mask.  A
        forced prefix may have any pieces, and the search may write all ``characters``.

        Raises:
            ConfigError: ``config`` demands trees, or the scorer cannot be restricted.
        """
        if config.grammar != "any":
            raise ConfigError(
                f"a shortlist does not go with search.grammar {config.grammar}; leave out either"
            )
        allowed = self._shortlist.allowed(sources, self._pieces, prefixes or ())
        if characters is not None:  # any character that is begun can be finished
            allowed[:, characters.ids.cpu().numpy()] = True
        choices = Choices.of(torch.from_numpy(allowed).to(padded[0].device))
        searched = search(
            shortlisted(self._scorer, choices),
            *padded,
            config,
            prefixes=None if prefixes is None else [*map(choices.places, prefixes)],
            never=choices.places(never),
            numbers=numbers,
            bounds=bounds,
            characters=None if characters is None else characters.among(choices.pieces),
        )
        pieces: list[int] = choices.pieces.tolist()
        return [
            [replace(one, ids=[pieces[place] for place in one.ids]) for one in hypotheses]
            for hypotheses in searched
        ]
