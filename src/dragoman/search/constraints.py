"""Constraints on outputs: one list that greedy search, beam search and sampling share.

A :class:`Constraint` forbids pieces, a :class:`Requirement` dictates the next one.  Neither
changes the score of other pieces: a hypothesis keeps the model's probability, and forced decoding
gives the same score.  A requirement overrides every constraint, and a later requirement an earlier
one.

Search never gets stuck: a required piece whose probability is 0 counts as 1.2e-38, and so does the
end symbol where nothing at all may follow (:func:`close_dead_ends`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.search.penalties import Penalties
from dragoman.search.scorer import Scorer
from dragoman.text.vocabularies import EOS

FREE = -1  # in place of an id: any piece may come next
_FORBIDDEN = float("-inf")
_LEAST = math.log(torch.finfo(torch.float32).tiny)


@dataclass(frozen=True)
class PartialOutputs:
    """The unfinished output of each row."""

    history: Tensor  # (rows, length): generated so far, without the begin symbol
    sentences: Tensor  # (rows,): the row's sentence, numbered as when search began

    @property
    def length(self) -> int:
        """Pieces generated so far, the same for every row."""
        return self.history.size(1)


class Constraint(Protocol):
    """Forbids pieces.

    The end symbol may be forbidden only by :class:`MinimumLength`, and by a constraint that always
    leaves another piece.
    """

    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        """Set the scores ``(rows, vocabulary)`` of forbidden next pieces to -inf, in place."""


class Unbroken(Constraint, Protocol):
    """A constraint that holds even for pieces that an output must contain."""

    def breaks(self, pieces: Tensor, partial: PartialOutputs) -> Tensor:
        """Whether pieces ``(rows, pieces)`` are forbidden next, in the same shape."""


class Requirement(Protocol):
    """Decides the next piece of some rows."""

    def required(self, partial: PartialOutputs) -> Tensor:
        """The id that must come next in each row, ``(rows,)``; ``FREE`` for a row without one."""


@dataclass(frozen=True)
class Never(Constraint):
    """Symbols that are never output: padding, the begin symbol, tags of the vocabulary."""

    ids: Tensor  # (symbols,)

    @override
    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        scores.index_fill_(1, self.ids, _FORBIDDEN)


@dataclass(frozen=True)
class NoRepeatedNgram(Constraint):
    """No sequence of ``size`` pieces occurs twice in an output."""

    size: int

    @override
    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        if partial.length < self.size:
            return
        ngrams = partial.history.unfold(1, self.size, 1)  # (rows, ngrams, size)
        context = partial.history[:, partial.length - self.size + 1 :]  # (rows, size - 1)
        seen = (ngrams[:, :, :-1] == context.unsqueeze(1)).all(2)  # (rows, ngrams)
        # Several n-grams may end in the same piece: the lowest ceiling holds.
        ceiling = torch.where(seen, _FORBIDDEN, float("inf")).to(scores.dtype)
        scores.scatter_reduce_(1, ngrams[:, :, -1], ceiling, "amin")


@dataclass(frozen=True)
class MinimumLength(Constraint):
    """No end symbol before ``length`` pieces, unless nothing else is left."""

    length: int

    @override
    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        if partial.length >= self.length:
            return
        ending = scores[:, EOS].clone()
        scores[:, EOS] = _FORBIDDEN
        exhausted = scores.amax(1) == _FORBIDDEN
        scores[:, EOS] = torch.where(exhausted, ending, scores[:, EOS])


class ForcedPrefix(Requirement):
    """Each output begins with the pieces given for its sentence."""

    def __init__(self, prefixes: Sequence[Sequence[int]], device: torch.device) -> None:
        width = max((len(prefix) for prefix in prefixes), default=0)
        rows = [[*prefix, *[FREE] * (width - len(prefix))] for prefix in prefixes]
        self._ids = torch.tensor(rows, dtype=torch.int64, device=device).view(len(rows), width)

    @override
    def required(self, partial: PartialOutputs) -> Tensor:
        if partial.length >= self._ids.size(1):
            return torch.full_like(partial.sentences, FREE)
        return self._ids[partial.sentences, partial.length]


@dataclass(frozen=True)
class LengthLimit(Requirement):
    """An output ends at its maximum length in pieces at the latest."""

    pieces: Tensor  # (sentences,)

    @override
    def required(self, partial: PartialOutputs) -> Tensor:
        reached = self.pieces[partial.sentences] <= partial.length
        return torch.where(reached, EOS, FREE)


@dataclass(frozen=True)
class Rules:
    """All constraints and requirements of one search, with the limits that bound it."""

    constraints: list[Constraint]  # MinimumLength last: it reads the result of the others
    requirements: list[Requirement]
    limits: Tensor  # (sentences,): maximum output length in pieces
    unbroken: Unbroken | None = None  # one of the constraints: it also holds for phrases

    def apply(self, scores: Tensor, partial: PartialOutputs) -> Tensor:
        """Set the log-probabilities ``(rows, vocabulary)`` of forbidden pieces to -inf.

        Returns:
            Rows whose next piece a requirement dictates, ``(rows,)``.
        """
        required = torch.full_like(partial.sentences, FREE)
        for requirement in self.requirements:
            later = requirement.required(partial)
            required = torch.where(later == FREE, required, later)
        bound = (required != FREE).nonzero().flatten()
        pieces = required[bound].unsqueeze(1)
        kept = some_probability(scores[bound].gather(1, pieces)) if len(bound) else None
        for constraint in self.constraints:
            constraint.forbid(scores, partial)
        if kept is not None:
            scores.index_fill_(0, bound, _FORBIDDEN)
            scores[bound, pieces.squeeze(1)] = kept.squeeze(1)
        return required != FREE


@dataclass(frozen=True)
class SearchTask:
    """A batch to search."""

    scorer: Scorer
    source: Tensor  # (batch, source): ids
    source_mask: Tensor  # (batch, source): True is a real token
    rules: Rules
    penalties: Penalties


def close_dead_ends(scores: Tensor, values: Tensor, pieces: Tensor) -> tuple[Tensor, Tensor]:
    """End the rows without a finite continuation: only the end symbol may follow.

    In such a row everything is forbidden or impossible, or the scores are not log-probabilities:
    they contain NaN or +inf, as after an overflow.

    Args:
        scores: before the choice, ``(rows, vocabulary)``.
        values: of the chosen pieces, ``(rows, chosen)``, best first; the first is not finite in a
            row without a continuation.
        pieces: the chosen pieces, ``(rows, chosen)``.
    """
    stuck = ~values[:, 0].isfinite()
    values = values.masked_fill(stuck.unsqueeze(1), _FORBIDDEN)
    values[:, 0] = torch.where(stuck, some_probability(scores[:, EOS]), values[:, 0])
    pieces = pieces.masked_fill(stuck.unsqueeze(1), EOS)
    return values, pieces


def some_probability(scores: Tensor) -> Tensor:
    """``scores``, with the logarithm of 1.2e-38 in place of those that are not finite."""
    return torch.where(scores.isfinite(), scores, _LEAST)
