"""Hypotheses, which every search returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

REPETITION = "repetition"
"""The fault of an output in which a part repeats itself in a loop."""
TOO_LONG = "length"
"""The fault of an output that is far too long for its source."""


@dataclass(frozen=True)
class Hypothesis:
    """One output of search."""

    ids: list[int]
    """Target ids without begin and end symbols."""

    score: float
    """The log-probability divided by the length penalty, plus the coverage penalty; hypotheses are
    ranked by it."""

    log_probability: float
    """Natural logarithm of the model's probability of ``ids`` and the end symbol; a required piece
    without probability counts as 1.2e-38."""

    ended: bool
    """False if the length limit cut the hypothesis off, that is, if it is as long as allowed."""

    confidence: float | None = None
    """Calibrated probability that it is right; None without a calibration."""
    faults: tuple[str, ...] = ()
    """Reasons why it is degenerate: ``REPETITION``, ``TOO_LONG``; usually empty."""
    token_scores: list[float] | None = None
    """Natural logarithm of the model's probability of each of ``ids``, then of the end symbol.
    Their sum is ``log_probability``.  None if the engine does not give them."""


def steps(totals: Sequence[float]) -> list[float]:
    """The differences of running totals, which begin with 0."""
    return [after - before for before, after in pairwise((0.0, *totals))]


def rank(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Hypotheses, best first; ties are broken by lowest ids, so that the order is reproducible."""
    return sorted(hypotheses, key=lambda hypothesis: (-hypothesis.score, hypothesis.ids))
