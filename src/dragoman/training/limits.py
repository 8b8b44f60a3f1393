"""When training ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from dragoman.training.bounds import Bounds
from dragoman.training.checkpoint import Progress


class Limits(Protocol):
    """The limits of a :class:`~dragoman.training.settings.TrainingConfig`."""

    @property
    def max_steps(self) -> int | None:
        """Maximum optimizer steps."""

    @property
    def max_epochs(self) -> int | None:
        """Maximum passes over the data."""

    @property
    def max_minutes(self) -> float | None:
        """Maximum minutes of training, validation excluded."""

    @property
    def patience(self) -> int | None:
        """Maximum validations without improvement."""

    @property
    def bounds(self) -> Bounds:
        """What dev sets may lose."""


def limit_reached(progress: Progress, limits: Limits) -> str | None:
    """The limit that ends the training, if one is reached."""
    if progress.watched is not None and progress.watched.is_lost(limits.bounds):
        return "bounds"
    done = _done(progress) | {"patience": progress.stale_validations}
    return next((name for name, value in done.items() if value >= _limit(limits, name)), None)


def limits_passed(progress: Progress, limits: Limits) -> Iterator[tuple[str, str]]:
    """Limits that training has passed, with messages such as "max_steps 20: 25 steps are done"."""
    words = {"max_steps": "steps", "max_epochs": "epochs", "max_minutes": "minutes"}
    for name, value in _done(progress).items():
        if value > _limit(limits, name):
            yield name, f"{name} {_limit(limits, name):g}: {value:g} {words[name]} are done"


def _done(progress: Progress) -> dict[str, float]:
    minutes = progress.seconds / 60
    return {"max_steps": progress.step, "max_epochs": progress.epoch, "max_minutes": minutes}


def _limit(limits: Limits, name: str) -> float:
    limit: float | None = getattr(limits, name)
    return float("inf") if limit is None else limit
