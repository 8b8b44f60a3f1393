"""How far confidences can be believed: reliability, expected calibration error, Brier score, AUC.

Confidences are calibrated if, of all lines with a confidence near p, the share p is right.  The
reliability diagram (DeGroot and Fienberg 1983; Niculescu-Mizil and Caruana 2005) shows this share
bin by bin, and the expected calibration error (Naeini et al. 2015, "Obtaining Well Calibrated
Probabilities Using Bayesian Binning") is the mean distance, weighted by the lines in each bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError

BINS = 10
"""Bins of equal width."""
SAMPLES = 1000
"""Resamples for intervals."""

_SEED = 12345
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Lines of similar confidence."""

    lower: float
    upper: float
    lines: int
    confidence: float
    """Mean confidence of the lines; the middle of the bin if there are none."""
    right: float | None
    """Share of them that is right; None if there are none."""
    interval: tuple[float, float] | None
    """Its 95 % interval (Wilson 1927)."""


@dataclass(frozen=True)
class Reliability:
    """How far confidences agree with what is right.  Shares and errors are from 0 to 1."""

    lines: int
    right: float
    """Share of the lines that is right."""
    confidence: float
    """Mean confidence."""
    calibration_error: float
    """Expected calibration error."""
    calibration_error_interval: tuple[float, float]
    """Its 95 % interval by bootstrap resampling; resampling adds noise, so that it may lie above
    a small error."""
    error_by_chance: float
    """The mean error that as many lines with these confidences have if these are exactly
    calibrated: no text of this size shows less."""
    brier: float
    """Mean squared distance of confidence and outcome (Brier 1950); lower is better."""
    auc: float | None
    """Probability that a line that is right has a higher confidence than one that is not, ties
    counting half; None if all lines are alike."""
    auc_interval: tuple[float, float] | None
    """Its 95 % interval by bootstrap resampling."""
    bins: tuple[Bin, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def reliability(
    confidences: Sequence[float], right: Sequence[bool], *, samples: int = SAMPLES
) -> Reliability:
    """Compare the confidences of lines, from 0 to 1, with whether each is right.

    Raises:
        DataError: there are no lines, or their numbers differ.
    """
    if not len(confidences):
        raise DataError("confidence: no lines, so there is nothing to measure")
    if len(confidences) != len(right):
        raise DataError(f"{len(confidences)} confidences, but {len(right)} outcomes")
    given, outcomes = np.array(confidences, dtype=np.float64), np.array(right, dtype=np.float64)
    rng = np.random.default_rng(_SEED)
    errors, areas, chance = [], [], []
    for _ in range(samples):
        drawn = rng.integers(len(given), size=len(given))
        errors.append(_calibration_error(given[drawn], outcomes[drawn]))
        areas.append(_auc(given[drawn], outcomes[drawn]))
        simulated = (rng.random(len(given)) < given).astype(np.float64)
        chance.append(_calibration_error(given, simulated))
    known = [area for area in areas if area is not None]
    area = _auc(given, outcomes)
    return Reliability(
        lines=len(given),
        right=float(outcomes.mean()),
        confidence=float(given.mean()),
        calibration_error=_calibration_error(given, outcomes),
        calibration_error_interval=_interval(errors),
        error_by_chance=float(np.mean(chance)),
        brier=float(((given - outcomes) ** 2).mean()),
        auc=area,
        auc_interval=None if area is None or not known else _interval(known),
        bins=tuple(_bin(place, given, outcomes) for place in range(BINS)),
    )


def _places(confidences: Vector) -> NDArray[np.int64]:
    """The bin of each confidence; 1 is in the last."""
    return np.minimum((confidences * BINS).astype(np.int64), BINS - 1)


def _calibration_error(confidences: Vector, outcomes: Vector) -> float:
    gaps = np.bincount(_places(confidences), confidences - outcomes, BINS)
    return float(np.abs(gaps).sum() / len(confidences))


def _auc(confidences: Vector, outcomes: Vector) -> float | None:
    """The rank statistic of Mann and Whitney over the number of pairs."""
    right = int(outcomes.sum())
    pairs = right * (len(outcomes) - right)
    if not pairs:
        return None
    _, group, counts = np.unique(confidences, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[group]  # of equal confidences, the mean rank
    return float((ranks[outcomes == 1].sum() - right * (right + 1) / 2) / pairs)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def _bin(place: int, confidences: Vector, outcomes: Vector) -> Bin:
    inside = _places(confidences) == place
    lower, upper, lines = place / BINS, (place + 1) / BINS, int(inside.sum())
    if not lines:
        return Bin(lower, upper, 0, (lower + upper) / 2, None, None)
    share = float(outcomes[inside].mean())
    return Bin(lower, upper, lines, float(confidences[inside].mean()), share, _wilson(share, lines))


def _wilson(share: float, lines: int) -> tuple[float, float]:
    """The 95 % interval of a share of ``lines`` (Wilson 1927), never beyond 0 and 1."""
    z = 1.959963984540054
    whole = 1 + z * z / lines
    middle = (share + z * z / (2 * lines)) / whole
    margin = z / whole * (share * (1 - share) / lines + z * z / (4 * lines * lines)) ** 0.5
    return max(0.0, middle - margin), min(1.0, middle + margin)
