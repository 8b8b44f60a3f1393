"""Calibrating the confidence of a finished model on the translations of its dev sets.

They are those that were scored, so that nothing is translated twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.core.errors import DataError
from dragoman.evaluation.criterion import Criterion
from dragoman.recipe import ExperimentConfig
from dragoman.translation.calibration_fitting import MeasuredConfidence, fit_calibration
from dragoman.translation.confidence import conditions_of_model, measurements
from dragoman.validation import Evaluated, Rendered

_OTHER_BOUNDS = (50, 70, 40, 80, 30, 90, 20)
"""Bounds on chrF that are tried, nearest first, if too few lines or nearly all are above the usual
one."""


def dev_calibration(
    config: ExperimentConfig, evaluated: Mapping[str, Evaluated], digest: str
) -> MeasuredConfidence | str:
    """The calibration of a model, or the reason why there is none.

    Args:
        config: of the run, with the settings of search that the model keeps.
        evaluated: the dev sets with translations.
        digest: of the model's weights.
    """
    if reason := _unfit(config):
        return reason
    lines: list[Rendered] = []
    names = []
    for name, part in config.dev_sets().items():
        if part.back_translation is None:
            lines += evaluated[name].translations or ()
            names.append(part.name)
    measured = [
        measurements(line.log_probability, line.pieces, line.source_pieces) for line in lines
    ]
    translations, references = [one.text for one in lines], [one.reference for one in lines]
    conditions = conditions_of_model(digest, config.decoding, _tags_of_languages(config))
    usual = Criterion()
    reason = ""
    for criterion in (usual, *(Criterion(above=bound) for bound in _OTHER_BOUNDS)):
        try:
            return fit_calibration(
                *(measured, translations, references, criterion),
                name=", ".join(names),
                conditions=conditions,
            )
        except DataError as error:
            reason = reason or str(error)
    return reason


def _unfit(config: ExperimentConfig) -> str | None:
    """Why a run of this kind gets no calibration."""
    if not config.finish.calibrate:
        return "finish.calibrate is false"
    if not (config.writes_text and config.evaluation.metrics):
        return "it does not translate its dev sets into text"
    if config.search.sampling is not None or config.search.mbr is not None:
        return "its search draws samples"
    if config.data.context is not None:
        return "it reads context; calibrate it with 'dragoman calibrate'"
    return None


def _tags_of_languages(config: ExperimentConfig) -> list[tuple[str, ...]]:
    """The tags of the dev sets' directions, if the model has several target languages."""
    if len({direction.target_language for direction in config.directions()}) < 2:
        return []
    parts = config.dev_sets().values()
    return sorted({part.direction.tags for part in parts if part.back_translation is None})
