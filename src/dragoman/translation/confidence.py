"""The confidence of translations: the calibrated probability that each is right.

It is computed from by-products of search, so it needs no second pass and works with every engine.
A hypothesis with n pieces and log-probability l, of a source with m pieces, all counted with their
end symbols, has four measurements:

- ``mean_log_probability``: l / n;
- ``log_length``: log n;
- ``log_ratio``: log(n / m);
- ``log_ratio_size``: the absolute value of ``log_ratio``.

The lowest log-probability of a piece, the margin to the second hypothesis and the entropy of each
position were tried and add nothing to these (docs/decisions/053-confidence.md).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import content_digest
from dragoman.saved.adapter import read_adapter
from dragoman.saved.calibration import (
    Calibration,
    Conditions,
    calibration_path,
    check_weights,
    read_calibration,
)
from dragoman.saved.model import model_directory
from dragoman.saved.shortlist import shortlist_path
from dragoman.saved.weights import weights_digest
from dragoman.search import Hypothesis, SearchConfig
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch
from dragoman.translation.opening import OpenSystem

log = logging.getLogger(__name__)

MEASUREMENTS = ("mean_log_probability", "log_length", "log_ratio", "log_ratio_size")
"""Names of the values that :func:`measure` returns."""

_OF_LINES = {"prefix", "terms", "source_language"}
"""Values of a system that concern the contents of lines."""
_OF_PLACES = {"device", "workers", "routes", "identifier", "pivot", "confidence"}
"""Values of a system that change no probability, or that a system with confidence lacks."""
_RESOLVED = {
    *("models", "adapter", "search", "target_language", "tags", "language_model", "shortlist"),
}
"""Values of a system that its conditions have in another form."""
_NOT_SCORING = {
    *("nbest", "batch_tokens", "buffer_lines", "max_source_pieces", "constrained_beam"),
    *("sampling", "capitals"),
}
"""Settings of search that do not change how the best hypothesis scores."""


def measure(hypothesis: Hypothesis, source: int) -> tuple[float, ...]:
    """The measurements of a hypothesis, as named by :data:`MEASUREMENTS`.

    ``source`` is the number of pieces of its source, without the end symbol.
    """
    return measurements(hypothesis.log_probability, len(hypothesis.ids), source)


def measurements(log_probability: float, target: int, source: int) -> tuple[float, ...]:
    """:func:`measure` for a hypothesis of ``target`` pieces, without the end symbol."""
    pieces = target + 1
    ratio = math.log(pieces / (source + 1))
    return log_probability / pieces, math.log(pieces), ratio, abs(ratio)


def conditions_of(opened: OpenSystem) -> Conditions:
    """Conditions of a system on which its confidences depend."""
    system = opened.system
    kept = system.plain()
    for name in (*_OF_LINES, *_OF_PLACES, *_RESOLVED):
        kept.pop(name, None)
    if kept.get("engine") == "pytorch":  # the same texts as by default
        del kept["engine"]
    if opened.tags:
        kept["tags"] = list(opened.tags)
    if system.adapter is not None:
        kept["adapter"] = content_digest(read_adapter(system.adapter).path)
    if system.shortlist:
        kept["shortlist"] = content_digest(shortlist_path(system))
    if (fused := system.language_model) is not None:
        digest = weights_digest(model_directory(fused.path))
        kept["language_model"] = {"weights": digest, "weight": fused.weight}
    return Conditions(
        weights=tuple(weights_digest(model_directory(path)) for path in system.models),
        system=kept,
        search=_scoring(opened.search),
    )


def conditions_of_model(
    digest: str, search: SearchConfig, tags: Sequence[Sequence[str]] = ()
) -> Conditions:
    """Conditions of a single model as it is opened by default.

    Args:
        digest: of its weights.
        search: the search settings that it is saved with.
        tags: of its directions, if these have several target languages.
    """
    system = {"tags": [list(one) for one in tags]} if tags else {}
    return Conditions(weights=(digest,), system=system, search=_scoring(search))


def _scoring(search: SearchConfig) -> dict[str, Any]:
    """The settings that change the hypotheses or their scores."""
    values = search.model_dump(mode="json")
    return {name: value for name, value in values.items() if name not in _NOT_SCORING}


class ConfidentEngine(Engine):
    """Another engine's hypotheses, each with its confidence; closes that engine."""

    def __init__(self, engine: Engine, calibration: Calibration, opened: OpenSystem) -> None:
        self._engine, self._calibration = engine, calibration
        self.has_token_scores = engine.has_token_scores
        self._used = conditions_of(opened)
        # A setting added in a later Dragoman had its default.
        known = _scoring(SearchConfig()) | calibration.conditions.search
        self._conditions = calibration.conditions.model_copy(update={"search": known})
        self._weights = np.array([calibration.weights[name] for name in MEASUREMENTS])
        self._warned: set[str] = set()

    @override
    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        """Search with the other engine, and measure its hypotheses.

        Settings that differ from those of the calibration cause one warning each.
        """
        check_searches(config)
        self._warn(config)
        for batch, found in self._engine.search(batches, config):
            confident = [
                [replace(one, confidence=self._confidence(one, len(source))) for one in hypotheses]
                for source, hypotheses in zip(batch.sources, found, strict=True)
            ]
            yield SearchedBatch(batch, confident)

    @property
    @override
    def choice(self) -> str | None:  # type: ignore[override]
        return self._engine.choice

    @property
    @override
    def is_ready(self) -> bool:
        return self._engine.is_ready

    @override
    def outlook(self, config: SearchConfig) -> str | None:
        return self._engine.outlook(config)

    @override
    def prepare(self, config: SearchConfig) -> None:
        self._engine.prepare(config)

    @override
    def close(self) -> None:
        self._engine.close()

    def _confidence(self, hypothesis: Hypothesis, source: int) -> float:
        logit = self._calibration.intercept + float(
            np.dot(self._weights, measure(hypothesis, source))
        )
        if not math.isfinite(logit):  # the model overflowed
            return 0.0
        small = math.exp(-abs(logit))  # cannot overflow
        return (1.0 if logit >= 0 else small) / (1.0 + small)

    def _warn(self, config: SearchConfig) -> None:
        used = self._used.model_copy(update={"search": _scoring(config)})
        found = "; ".join(self._conditions.differences(used))
        if found and found not in self._warned:
            self._warned.add(found)
            log.warning(
                "confidence: calibrated with other settings (%s), so it may be too high or too "
                "low; use those, or calibrate again with these",
                found,
            )


def check_searches(config: SearchConfig) -> None:
    """Check that hypotheses are searched for.

    Raises:
        ConfigError: they are sampled.
    """
    if config.sampling is not None or config.mbr is not None:
        raise ConfigError(
            "confidence: samples (of mbr, too) have none, since it is calibrated for what search "
            "finds; leave out one of them"
        )


def open_calibration(opened: OpenSystem) -> Calibration | None:
    """The calibration of a system with confidence; None for other systems.

    Raises:
        ConfigError: there is no calibration, or the system writes without a source, or samples.
        SavedError: the calibration is damaged, or of other weights.
    """
    if not opened.system.confidence:
        return None
    check_reads_source(opened)
    check_searches(opened.search)
    path = calibration_path(opened.system)
    calibration = read_calibration(path)
    check_weights(calibration, conditions_of(opened), path)
    if sorted(calibration.weights) != sorted(MEASUREMENTS):
        raise SavedError(
            f"{path}: damaged (weights of {', '.join(calibration.weights) or 'nothing'}, not of "
            f"{', '.join(MEASUREMENTS)}); calibrate again"
        )
    return calibration


def check_reads_source(opened: OpenSystem) -> None:
    """Check that a system translates.

    Raises:
        ConfigError: it is a language model.
    """
    if not opened.models[0].reads_source:
        raise ConfigError(
            f"confidence: {Path(opened.system.models[0])} is a language model, whose continuations "
            "have no reference that could calibrate it"
        )
