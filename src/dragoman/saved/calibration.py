"""Calibrations of a system's confidence in its translations: a small file beside the weights.

``dragoman calibrate`` writes ``confidence.json``.  It holds a logistic regression over a few
measurements of a hypothesis, the data it was fitted on, and its conditions: the digests of the
models' weights, and the settings that decide the outputs of search and their scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from dragoman.core.config import Config, parse
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import read_json, write_json
from dragoman.evaluation.criterion import Criterion
from dragoman.saved.model import CONFIDENCE_FILE, CONFIG_FILE, model_directory
from dragoman.saved.system import TranslationSystem

FORMAT = 1
"""Newest format of calibrations; it rises when an older Dragoman could misread a newer one."""
_LARGEST = 2**20  # bytes, hundreds of times a calibration's: avoids reading weights


class Conditions(Config):
    """The systems and search that a calibration holds for."""

    weights: tuple[str, ...] = Field(min_length=1)
    """Digests of the models' weights, in their order."""
    system: dict[str, Any] = Field(default_factory=dict)
    """Other values of the system that change probabilities, where they are not the default.  A list
    of lists of ``tags`` means that lines may have any of these, and name their target language."""
    search: dict[str, Any] = Field(default_factory=dict)
    """Settings of search that change what is found or how it scores."""

    def differences(self, used: Conditions) -> list[str]:
        """Differences between the settings in use and these, such as "beam 8 instead of 4"."""
        usual: dict[str, Any] = {
            name: one.default for name, one in TranslationSystem.model_fields.items()
        }
        usual["engine"] = "pytorch"  # whose texts are those of the automatic choice
        none: dict[str, Any] = {}  # all settings of search are written
        found = []
        for ours, theirs, defaults in (
            (self.system, used.system, usual),
            (self.search, used.search, none),
        ):
            for name in dict.fromkeys([*ours, *theirs]):
                before, now = (one.get(name, defaults.get(name)) for one in (ours, theirs))
                if before != now and not (name == "tags" and self._has_tags(now)):
                    found.append(f"{name} {_shown(now)} instead of {_shown(before)}")
        return found

    @property
    def several_tags(self) -> bool:
        """Whether these hold for lines with different tags, as for several target languages."""
        tags = self.system.get("tags") or [""]
        return isinstance(tags[0], list)

    def _has_tags(self, used: object) -> bool:
        """Whether lines with these tags, or with tags of their own, are among several."""
        return self.several_tags and (not used or used in self.system["tags"])


class Calibration(Config):
    """From the measurements of a hypothesis to the probability that it is right."""

    format: int = FORMAT
    """Format of the file."""
    right: Criterion
    """When a translation was counted as right."""
    intercept: float
    """Intercept of the regression."""
    weights: dict[str, float]
    """Weight of each measurement, by its name."""
    text: str
    """The text that it was fitted on."""
    lines: int = Field(ge=1)
    """Number of lines there."""
    share: float = Field(gt=0, lt=1)
    """Share of them that was right."""
    conditions: Conditions
    """The system and search that it holds for."""


def read_calibration(path: Path) -> Calibration:
    """Read a file of :func:`write_calibration`.

    Raises:
        ConfigError: the file does not exist.
        SavedError: it is damaged, or its format is newer.
    """
    try:
        values = read_json(path)
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: no such file, so confidence is not calibrated; do that with 'dragoman "
            "calibrate MODEL SOURCE REFERENCE'"
        ) from None
    except OSError as error:
        raise SavedError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SavedError(f"{path}: damaged ({error}); calibrate again") from error
    if not isinstance(values, dict):
        raise SavedError(f"{path}: damaged (no object); calibrate again")
    number = values.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise SavedError(
            f"{path}: a calibration of format {number}, and this Dragoman reads formats up to "
            f"{FORMAT}; use a newer release of Dragoman, or calibrate again"
        )
    try:
        return parse(Calibration, values, path)
    except ConfigError as error:
        raise SavedError(f"{error}; calibrate again") from error


def is_calibration(path: Path) -> bool:
    """Whether :func:`write_calibration` wrote a file, and so may replace it."""
    try:
        if path.stat().st_size > _LARGEST:
            return False
        read_calibration(path)
    except (ConfigError, SavedError, OSError):
        return False
    return True


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write a calibration, whole or not at all."""
    write_json(path, calibration.model_dump(mode="json"))


def calibration_path(system: TranslationSystem) -> Path:
    """The file of a system's calibration: named in its description, or beside its model."""
    if isinstance(system.confidence, Path):
        return system.confidence
    return model_directory(system.models[0]) / CONFIDENCE_FILE


def default_output(system: TranslationSystem) -> Path:
    """The default file for a system's calibration, beside its model.

    Raises:
        ConfigError: the system is an ensemble, a model with an adapter, or a checkpoint, and so
            has no such place.
    """
    if len(system.models) > 1:
        raise ConfigError(
            "the calibration of an ensemble is in no model's directory; name a file with --output"
        )
    if system.adapter is not None:
        raise ConfigError(
            "beside the model is the calibration of the model without an adapter; name a file for "
            "this one with --output"
        )
    directory = model_directory(system.models[0])
    if not (directory / CONFIG_FILE).is_file():
        raise ConfigError(
            f"{directory}: a checkpoint holds nothing but what resumes it; name a file with "
            "--output, or average it into a model"
        )
    return directory / CONFIDENCE_FILE


def check_weights(calibration: Calibration, used: Conditions, path: Path) -> None:
    """Check that a calibration is of these models, with this adapter.

    Raises:
        SavedError: it is of other weights.
    """
    ours = calibration.conditions
    if (ours.weights, ours.system.get("adapter")) != (used.weights, used.system.get("adapter")):
        raise SavedError(
            f"{path}: this calibration is of other weights, so its confidences would mean nothing "
            "here; calibrate these models with 'dragoman calibrate'"
        )


_DIGEST = re.compile("[0-9a-f]{64}")
_ENOUGH = 8  # digits of a digest, which no one reads


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return value[:_ENOUGH]
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(map(_shown, value)) or "none"
    return str(value)
