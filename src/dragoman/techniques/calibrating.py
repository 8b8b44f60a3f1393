"""Calibrating the confidence of a system on lines with references, and measuring its reliability.

A logistic regression on measurements of the search predicts whether a translation is right, as
Platt (1999, "Probabilistic Outputs for Support Vector Machines") calibrates a single score.  Kumar
and Sarawagi (2019, arXiv:1903.00802) show that the probabilities of translation models themselves
are not calibrated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.evaluation.criterion import Criterion
from dragoman.evaluation.logistic import fit_logistic
from dragoman.evaluation.reliability import Reliability, reliability
from dragoman.saved.calibration import Calibration, calibration_path, read_calibration
from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig
from dragoman.translation.building import build_engine
from dragoman.translation.confidence import (
    MEASUREMENTS,
    check_reads_source,
    check_searches,
    conditions_of,
    measure,
)
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch
from dragoman.translation.opening import open_system, open_terms
from dragoman.translation.translator import Translator

LEAST_LINES = 100
"""Minimum number of lines for a calibration."""
LEAST_OF_EACH = 10
"""Minimum number of right lines, and also of wrong lines."""
FOLDS = 10
"""Parts of the text, each judged by a calibration on the others."""

Progress = Callable[[int], object]


@dataclass(frozen=True)
class MeasuredConfidence:
    """How reliable a calibration is on a text."""

    calibration: Calibration
    reliability: Reliability
    left_out: int
    """Lines that could not be translated."""


def calibrate(
    system: TranslationSystem,
    sources: Sequence[str],
    references: Sequence[str],
    criterion: Criterion,
    *,
    name: str,
    progress: Progress = lambda done: None,
) -> MeasuredConfidence:
    """Calibrate a system, and measure by cross-validation how reliable it is on the same text.

    The models must not have been trained on the text, whose name is ``name``.
    """
    check_calibrates(system)
    opened = open_system(system.model_copy(update={"confidence": False}))
    check_reads_source(opened)
    check_searches(opened.search)
    _check_enough(name, len(sources))
    measuring = _MeasuringEngine(build_engine(opened))
    terms = open_terms(system, [opened])
    with Translator.over(opened, measuring, terms=terms) as translator:
        translations = translator.translate_nbest(sources, progress=progress)
    lines = sorted(measuring.measured)
    _check_enough(name, len(lines))
    measured = np.array([measuring.measured[line] for line in lines])
    right = criterion.holds(
        [translations[line][0].text for line in lines], [references[line] for line in lines]
    )
    outcomes = np.array(right, dtype=np.float64)
    _check_both(name, outcomes, criterion)
    model = fit_logistic(measured, outcomes)
    calibration = Calibration(
        right=criterion,
        intercept=model.intercept,
        weights=dict(zip(MEASUREMENTS, model.weights, strict=True)),
        text=name,
        lines=len(lines),
        share=float(outcomes.mean()),
        conditions=conditions_of(opened),
    )
    judged = reliability(cross_validated(measured, outcomes).tolist(), right)
    return MeasuredConfidence(calibration, judged, len(sources) - len(lines))


def measure_reliability(
    system: TranslationSystem,
    sources: Sequence[str],
    references: Sequence[str],
    progress: Progress = lambda done: None,
) -> MeasuredConfidence:
    """Measure the calibration of a system on another text, with a translation of each line."""
    check_calibrates(system)
    with Translator.of(system) as translator:
        calibration = read_calibration(calibration_path(system))
        translations = translator.translate_nbest(sources, progress=progress)
    judged = [
        (best.text, reference, best.confidence)
        for (best, *_), reference in zip(translations, references, strict=True)
        if best.confidence is not None
    ]
    if not judged:
        raise DataError("confidence: no line can be translated, so there is nothing to measure")
    texts, wanted, confidences = zip(*judged, strict=True)
    right = calibration.right.holds(texts, wanted)
    return MeasuredConfidence(
        calibration, reliability(confidences, right), len(sources) - len(judged)
    )


def check_calibrates(system: TranslationSystem) -> None:
    """Check that a system translates by one search."""
    if system.pivot is not None or system.chooses_route:
        raise ConfigError(
            "confidence is calibrated for one search, and this system has several; calibrate the "
            "models of one"
        )
    if system.chooses_adapter:
        raise ConfigError(
            "confidence is calibrated for one adapter, and these change by domain; name one "
            "adapter for all lines"
        )


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


def _check_enough(name: str, lines: int) -> None:
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


class _MeasuringEngine(Engine):
    """Another engine, which it closes; keeps the measurements of the best hypotheses."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.has_token_scores = engine, engine.has_token_scores
        self.measured: dict[int, tuple[float, ...]] = {}
        """By the number of the line."""

    @override
    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        for searched in self._engine.search(batches, config):
            (numbers, sources, *_), hypotheses = searched
            for number, source, (best, *_) in zip(numbers, sources, hypotheses, strict=True):
                self.measured[number] = measure(best, len(source))
            yield searched

    @override
    def close(self) -> None:
        self._engine.close()
