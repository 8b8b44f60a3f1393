"""Fitting a calibration to measured translations, some of which are right.

A logistic regression on measurements of the search predicts whether a translation is right, as
Platt (1999, "Probabilistic Outputs for Support Vector Machines") calibrates a single score.  Kumar
and Sarawagi (2019, arXiv:1903.00802) show that the probabilities of translation models themselves
are not calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.evaluation.criterion import Criterion
from dragoman.evaluation.logistic import fit_logistic
from dragoman.evaluation.reliability import Reliability, reliability
from dragoman.saved.calibration import Calibration, Conditions
from dragoman.translation.confidence import MEASUREMENTS

LEAST_LINES = 100
"""Minimum number of lines for a calibration."""
LEAST_OF_EACH = 10
"""Minimum number of right lines, and also of wrong lines."""
FOLDS = 10
"""Parts of the text, each judged by a calibration on the others."""


@dataclass(frozen=True)
class MeasuredConfidence:
    """How reliable a calibration is on a text."""

    calibration: Calibration
    reliability: Reliability
    left_out: int
    """Lines that could not be translated."""


def fit_calibration(
    measured: Sequence[Sequence[float]],
    translations: Sequence[str],
    references: Sequence[str],
    criterion: Criterion,
    *,
    name: str,
    conditions: Conditions,
    left_out: int = 0,
) -> MeasuredConfidence:
    """Fit a calibration, and measure by cross-validation how reliable it is on the same text.

    Args:
        measured: the measurements of each translation.
        name: of the text.
        conditions: of the system that translated.
        left_out: lines that could not be translated.

    Raises:
        DataError: there are too few lines, or too few that are right or that are not.
    """
    check_enough(name, len(measured))
    right = criterion.holds(translations, references)
    values, outcomes = np.array(measured), np.array(right, dtype=np.float64)
    _check_both(name, outcomes, criterion)
    model = fit_logistic(values, outcomes)
    calibration = Calibration(
        right=criterion,
        intercept=model.intercept,
        weights=dict(zip(MEASUREMENTS, model.weights, strict=True)),
        text=name,
        lines=len(outcomes),
        share=float(outcomes.mean()),
        conditions=conditions,
    )
    judged = reliability(cross_validated(values, outcomes).tolist(), right)
    return MeasuredConfidence(calibration, judged, left_out)


def cross_validated(
    measured: NDArray[np.float64], outcomes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The probability of each outcome by a regression on the other folds, ``(rows,)``.

    Neighbours, which may be of the same document, are in the same fold.

    Args:
        measured: ``(rows, measurements)``.
        outcomes: 0 or 1, ``(rows,)``.
    """
    folds = np.arange(len(outcomes)) * FOLDS // len(outcomes)
    probabilities = np.empty(len(outcomes))
    for fold in range(FOLDS):
        inside = folds == fold
        others = outcomes[~inside]
        if others.min() == others.max():  # all lines of one kind are neighbours
            probabilities[inside] = others[0]
        else:
            model = fit_logistic(measured[~inside], others)
            probabilities[inside] = model.probabilities(measured[inside])
    return probabilities


def check_enough(name: str, lines: int) -> None:
    """Check that there are enough lines for a calibration.

    Raises:
        DataError: there are not.
    """
    if lines < LEAST_LINES:
        raise DataError(
            f"{name}: {lines} lines that can be translated, and a calibration needs at least "
            f"{LEAST_LINES}; give more, such as 1,000"
        )


def _check_both(name: str, outcomes: NDArray[np.float64], criterion: Criterion) -> None:
    """Check that there are enough right and enough wrong lines."""
    right, lines = int(outcomes.sum()), len(outcomes)
    if LEAST_OF_EACH <= right <= lines - LEAST_OF_EACH:
        return
    if criterion.kind == "exact":
        remedy = "give more lines, or count chrF above a bound as right (--above)"
    else:
        remedy = f"choose a {'lower' if right < LEAST_OF_EACH else 'higher'} bound with --above"
    raise DataError(
        f"{name}: {right:,} of {lines:,} translations are right ({criterion}), and a calibration "
        f"needs at least {LEAST_OF_EACH} that are and {LEAST_OF_EACH} that are not; {remedy}"
    )
