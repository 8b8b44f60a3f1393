"""Scores of one recipe over several seeds, and whether two recipes differ by more than their seeds.

The test is Student's paired t-test over the seeds.  It says whether other seeds would show a
difference again, on this test set; whether other sentences would is the question of
:mod:`dragoman.evaluation.significance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

_LEVEL = 0.95
_LARGEST_T = 1e6


@dataclass(frozen=True)
class SeedDifference:
    """How much higher a recipe scores than another with the same seeds."""

    mean: float
    margin: float
    """Half the width of the 95 % interval of the mean over all seeds."""
    p_value: float
    """The probability of so large a mean, in either direction, if only the seeds differed."""


def spread(scores: Sequence[float]) -> float:
    """The standard deviation over all seeds, estimated from these."""
    return stdev(scores)


def paired_difference(scores: Sequence[float], baseline: Sequence[float]) -> SeedDifference:
    """Compare scores with those of a baseline, seed by seed.

    Args:
        scores: of two or more seeds.
        baseline: of the same seeds, in the same order.
    """
    differences = [own - other for own, other in zip(scores, baseline, strict=True)]
    mean, freedom = fmean(differences), len(differences) - 1
    error = stdev(differences) / math.sqrt(len(differences))
    if error == 0:
        return SeedDifference(mean, 0.0, 1.0 if mean == 0 else 0.0)
    return SeedDifference(mean, error * _critical(freedom), 1 - _within(abs(mean) / error, freedom))


def _within(t: float, freedom: int) -> float:
    """The probability that Student's t lies between -t and t.

    Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and 26.7.4: with
    ``theta = arctan(t / sqrt(freedom))``, a finite series of powers of ``cos(theta)``.
    """
    theta = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(theta), math.cos(theta)
    is_odd = freedom % 2
    term = cosine if is_odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + is_odd, freedom, 2):
        term *= (k - 1) / k * cosine**2
        total += term
    return 2 / math.pi * (theta + sine * total) if is_odd else sine * total


def _critical(freedom: int) -> float:
    """The t that 95 % lie within, by bisection."""
    low, high = 0.0, _LARGEST_T
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _within(middle, freedom) > _LEVEL else (middle, high)
    return high
