"""Degenerate outputs: those that repeat themselves, or are far too long for their source.

The ordinary search comes first.  Only the sentences whose best output is degenerate are searched
for again, with the repetition forbidden and a lower maximum length, so that any other output is the
same as without this, and costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.core.repetition import least_loop, loop
from dragoman.search.constraints import Constraint, PartialOutputs
from dragoman.search.hypothesis import REPETITION, TOO_LONG, Hypothesis

SLACK = 5
"""Additional pieces allowed in any output: a single word may need several."""
_LONGEST_PART = 64
"""Maximum pieces of a part whose loops are prevented."""
_FORBIDDEN = float("-inf")


@dataclass(frozen=True)
class Bounds:
    """The maximum repetition and length of an output that is not degenerate."""

    repeats: int
    """Maximum times that a part may follow itself; a value below the least loop forbids any."""
    pieces: int | None
    """Maximum pieces; None if the usual length is not known."""

    @classmethod
    def of(
        cls, source: Sequence[int], prefix: Sequence[int], ratio: float | None, factor: float
    ) -> Bounds:
        """The bounds of a sentence, whose output may repeat what repeats in source or prefix.

        Args:
            source: its pieces.
            prefix: pieces that its output begins with.
            ratio: usual number of target pieces per source piece; None if unknown.
            factor: multiple of the usual length from which an output is too long; 0 disables this.
        """
        longest = None
        if ratio is not None and factor:
            longest = int(factor * ratio * (len(source) + 1)) + SLACK + len(prefix)
        return cls(max(loop(source), loop(prefix)), longest)

    def faults(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The faults of an output; usually none."""
        found = []
        if loop(ids) > self.repeats:
            found.append(REPETITION)
        if self.pieces is not None and len(ids) > self.pieces:
            found.append(TOO_LONG)
        return tuple(found)


@dataclass(frozen=True)
class NoLoop(Constraint):
    """No part of an output follows itself more often than its sentence allows."""

    repeats: Tensor  # (sentences,)

    @override
    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        history, size = partial.history, partial.length
        allowed = self.repeats[partial.sentences]  # (rows,)
        for length in range(1, min(_LONGEST_PART, (size + 1) // 3) + 1):
            # How many of the last pieces equal the piece that is ``length`` places before them.
            same = history[:, length:] == history[:, : size - length]  # (rows, size - length)
            run = same.flip(1).to(torch.int64).cumprod(1).sum(1)  # (rows,)
            most = allowed.clamp(min=least_loop(length) - 1)
            closing = run + 1 >= most * length
            rows = closing.nonzero().flatten()
            scores[rows, history[rows, size - length]] = _FORBIDDEN


Again = Callable[[list[int], "list[Bounds]"], list[list[Hypothesis]]]
"""A second search: maps places of sentences, and their bounds, to hypotheses within the bounds."""


def without_faults(
    found: Sequence[list[Hypothesis]], bounds: Sequence[Bounds], again: Again | None
) -> list[list[Hypothesis]]:
    """Hypotheses that name their faults, replaced by those of a second search if these are better.

    Args:
        found: by the ordinary search, best first.
        bounds: of each sentence.
        again: searches for some of them again; None keeps ``found``.
    """
    marked = [_marked(*pair) for pair in zip(found, bounds, strict=True)]
    places = [place for place, (best, *_) in enumerate(marked) if best.faults]
    if again is None or not places:
        return marked
    searched = again(places, [bounds[place] for place in places])
    for place, others in zip(places, searched, strict=True):
        second = _marked(others, bounds[place])
        if _badness(second[0]) < _badness(marked[place][0]):
            marked[place] = second
    return marked


def _marked(hypotheses: list[Hypothesis], bounds: Bounds) -> list[Hypothesis]:
    faults = [bounds.faults(hypothesis.ids) for hypothesis in hypotheses]
    if not any(faults):
        return hypotheses
    pairs = zip(hypotheses, faults, strict=True)
    return [replace(hypothesis, faults=its_faults) for hypothesis, its_faults in pairs]


def _badness(hypothesis: Hypothesis) -> int:
    """The badness of an output, lower is better; an empty output is worst.

    A truncated output is as bad as one that is too long.
    """
    if not hypothesis.ids:
        return 3
    is_cut = not hypothesis.ended and TOO_LONG not in hypothesis.faults
    return len(hypothesis.faults) + is_cut
