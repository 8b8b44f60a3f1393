"""Verdicts of trials between engines, kept beside the converted model."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from dragoman.core.config import Config
from dragoman.core.errors import StorageError
from dragoman.core.files import read_json, write_json
from dragoman.saved.adapter import read_adapter
from dragoman.saved.model import CONVERTED_DIRECTORY
from dragoman.search import SearchConfig

TRIALS_FILE = "trials.json"
LEAST_GAIN = 1.1
"""How many times as fast another engine must be: less is within what timing varies."""
_IN_TEXT_ALONE = {"nbest", "batch_tokens", "buffer_lines", "max_source_pieces", "constrained_beam"}


def converted_directory(directory: Path, adapter: Path | None) -> Path:
    """The directory of a converted model: in that of the model, or beside the adapter's file."""
    if adapter is None:
        return directory / CONVERTED_DIRECTORY
    file = read_adapter(adapter).path
    return file.with_name(f"{file.stem}.{CONVERTED_DIRECTORY}")


class EngineTrial(Config):
    """What a trial has found."""

    lines: int = Field(ge=1)
    """Sentences that both engines searched for."""
    differing: int = Field(ge=0)
    """Those with other texts, whose scores differ by more than rounding."""
    seconds: float = Field(gt=0)
    """Of the other engine, and of the own one for the sentences that it left out."""
    own_seconds: float = Field(gt=0)
    """Of the own engine."""

    @property
    def gain(self) -> float:
        """How many times as fast the other engine is."""
        return self.own_seconds / self.seconds

    @property
    def is_won(self) -> bool:
        """Whether the other engine is faster with the same texts."""
        return not self.differing and self.gain >= LEAST_GAIN

    @property
    def words(self) -> str:
        """The result in words, of the engine that was tried."""
        if self.differing:
            return f"ctranslate2 translates {self.differing} of {self.lines} lines otherwise"
        times = f"{self.gain:.1f} times as fast"
        if self.is_won:
            return f"the same text as pytorch in {self.lines} lines, {times}"
        return f"ctranslate2 is {times} in {self.lines} lines"


class Verdicts:
    """The trials of a model on a machine.

    Args:
        directory: of the converted model; it need not exist.
        what: weights, programs and machine that they hold for.
    """

    def __init__(self, directory: Path, what: str) -> None:
        self._directory, self._what = directory, what
        self._known: dict[str, EngineTrial] = {}

    def of(self, config: SearchConfig) -> EngineTrial | None:
        """The trial with these settings; None if there was none."""
        key = self._key(config)
        if key not in self._known and (found := self._read().get(key)) is not None:
            with suppress(ValidationError):
                self._known[key] = EngineTrial.model_validate(found)
        return self._known.get(key)

    def keep(self, config: SearchConfig, trial: EngineTrial) -> None:
        """Keep a trial; if it cannot be written, for this process only."""
        key = self._key(config)
        self._known[key] = trial
        with suppress(StorageError):
            trials = {**self._read(), key: trial.model_dump(mode="json")}
            write_json(self._directory / TRIALS_FILE, trials)

    def _read(self) -> dict[str, Any]:
        try:
            found = read_json(self._directory / TRIALS_FILE)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _key(self, config: SearchConfig) -> str:
        values = config.model_dump(mode="json", exclude=_IN_TEXT_ALONE, exclude_defaults=True)
        return f"{self._what}: {json.dumps(values, sort_keys=True)}"
