"""What every search returns."""

from __future__ import annotations

from dataclasses import dataclass

REPETITION = "repetition"
"""The fault of an output in which a part follows itself again and again."""
TOO_LONG = "length"
"""The fault of an output that is far too long for its source."""


@dataclass(frozen=True)
class Hypothesis:
    """One output of search."""

    ids: list[int]
    """Target ids without begin and end symbols."""

    score: float
    """What hypotheses are ranked by: log-probability over length penalty, plus coverage
    penalty."""

    log_probability: float
    """Natural logarithm of the model's probability of ``ids`` and the end symbol; a required piece
    without probability counts as 1.2e-38."""

    ended: bool
    """False if the length limit cut the hypothesis off, that is, if it is as long as allowed."""

    confidence: float | None = None
    """Calibrated probability that it is right; None where no calibration is in use."""
    faults: tuple[str, ...] = ()
    """What makes it degenerate: ``REPETITION``, ``TOO_LONG``; none of nearly every hypothesis."""


def rank(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Best first; ties are broken by lowest ids, so that the order is always the same."""
    return sorted(hypotheses, key=lambda hypothesis: (-hypothesis.score, hypothesis.ids))
