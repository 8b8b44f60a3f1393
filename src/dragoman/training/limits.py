"""The limits that end training."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.training.checkpoint import Progress
from dragoman.training.settings import TrainingConfig


def limit_reached(progress: Progress, config: TrainingConfig) -> str | None:
    """The limit that ends the training, if one is reached."""
    if progress.watched is not None and progress.watched.is_lost(config.bounds):
        return "bounds"
    done = _done(progress) | {"patience": progress.stale_validations}
    return next((name for name, value in done.items() if value >= _limit(config, name)), None)


def limits_passed(progress: Progress, config: TrainingConfig) -> Iterator[tuple[str, str]]:
    """Limits that training has passed, with messages such as "max_steps 20: 25 steps are done"."""
    words = {"max_steps": "steps", "max_epochs": "epochs", "max_minutes": "minutes"}
    for name, value in _done(progress).items():
        if value > _limit(config, name):
            yield name, f"{name} {_limit(config, name):g}: {value:g} {words[name]} are done"


def _done(progress: Progress) -> dict[str, float]:
    minutes = progress.seconds / 60
    return {"max_steps": progress.step, "max_epochs": progress.epoch, "max_minutes": minutes}


def _limit(config: TrainingConfig, name: str) -> float:
    limit: float | None = getattr(config, name)
    return float("inf") if limit is None else limit
