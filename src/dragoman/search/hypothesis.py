"""What every search returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One output of search."""

    ids: list[int]
    """Target ids without begin and end symbol."""

    score: float
    """What hypotheses are ranked by: log-probability over length penalty, and coverage penalty."""

    log_probability: float
    """Natural logarithm of the model's probability of ``ids`` and the end symbol; what had to come
    and has no probability counts as 1.2e-38."""

    ended: bool
    """False where the length limit ended it, that is, where it is as long as allowed."""


def rank(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Best first; equal scores by lowest ids, so that the order never hangs on luck."""
    return sorted(hypotheses, key=lambda hypothesis: (-hypothesis.score, hypothesis.ids))
