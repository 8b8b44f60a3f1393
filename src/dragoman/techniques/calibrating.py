"""Calibrating the confidence of a system on lines with references; measuring how reliable it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.evaluation.criterion import Criterion
from dragoman.evaluation.reliability import reliability
from dragoman.saved.calibration import calibration_path, read_calibration
from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig
from dragoman.translation.building import build_engine
from dragoman.translation.calibration_fitting import (
    MeasuredConfidence,
    check_enough,
    fit_calibration,
)
from dragoman.translation.confidence import (
    check_reads_source,
    check_searches,
    conditions_of,
    measure,
)
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch
from dragoman.translation.opening import open_system, open_terms
from dragoman.translation.translator import Translator

Progress = Callable[[int], object]


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
    check_enough(name, len(sources))
    measuring = _MeasuringEngine(build_engine(opened))
    terms = open_terms(system, [opened])
    with Translator.over(opened, measuring, terms=terms) as translator:
        translations = translator.translate_nbest(sources, progress=progress)
    lines = sorted(measuring.measured)
    return fit_calibration(
        [measuring.measured[line] for line in lines],
        [translations[line][0].text for line in lines],
        [references[line] for line in lines],
        criterion,
        name=name,
        conditions=conditions_of(opened),
        left_out=len(sources) - len(lines),
    )


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
