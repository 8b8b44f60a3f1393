"""A run's checkpoints: ``checkpoints/step-000500/`` with weights, moments and progress.

A checkpoint appears whole or not at all, and digests tell when one was altered since.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.errors import SavedError
from dragoman.files import atomic_directory
from dragoman.saved import CHECKPOINTS_DIRECTORY, WEIGHTS_FILE, read_tensors, write_tensors

MOMENTS_FILE = "optimizer.safetensors"
STATE_FILE = "state.json"


@dataclass
class Best:
    """The best validation so far."""

    metric: str
    value: float
    step: int


@dataclass
class Progress:
    """How far a run has come: with weights and moments, all that resuming needs.

    There is no generator state: batches and dropout are functions of seed, epoch and step.
    """

    step: int = 0
    """Optimizer steps taken, skipped ones included."""
    epoch: int = 0
    """Passes over the data completed."""
    window: int = 0
    """Windows of the present epoch completed."""
    batch: int = 0
    """Batches of the present window already used, by each process."""
    target_tokens: int = 0
    """Target tokens learned from, padding left out."""
    seconds: float = 0.0
    """Time spent training, validation left out."""
    validated_step: int = 0
    """The last step at which the model was validated."""
    best: Best | None = None
    stale_validations: int = 0
    """Validations since the best one."""
    rollbacks: int = 0
    """Times that training went back to a checkpoint after a non-finite loss."""
    learning_rate_factor: float = 1.0
    """Lowered by each rollback."""
    early_losses: list[float] = field(default_factory=list)
    """Losses a token of the first steps, to tell later whether anything was learned."""


def path_of(run: Path, step: int) -> Path:
    """Where the checkpoint of ``step`` lies."""
    return run / CHECKPOINTS_DIRECTORY / f"step-{step:06d}"


def checkpoints(run: Path) -> list[Path]:
    """A run's checkpoints, oldest first."""
    found = (run / CHECKPOINTS_DIRECTORY).glob("step-*")
    return sorted((p for p in found if (p / STATE_FILE).is_file()), key=step_of)


def step_of(checkpoint: Path) -> int:
    """The step that a checkpoint was written at."""
    return int(checkpoint.name.removeprefix("step-"))


def write_checkpoint(
    run: Path, progress: Progress, weights: dict[str, Tensor], moments: dict[str, Tensor]
) -> Path:
    """Write the checkpoint of ``progress.step``.

    Raises:
        StorageError: the disk refuses; earlier checkpoints stay as they were.
    """
    path = path_of(run, progress.step)
    with atomic_directory(path) as temporary:
        write_tensors(temporary / WEIGHTS_FILE, weights)
        write_tensors(temporary / MOMENTS_FILE, moments)
        state = json.dumps(dataclasses.asdict(progress), indent=2)
        (temporary / STATE_FILE).write_text(state + "\n", encoding="utf-8")
    return path


def read_checkpoint(path: Path) -> tuple[Progress, dict[str, Tensor], dict[str, Tensor]]:
    """Progress, weights and moments of a checkpoint.

    Raises:
        SavedError: a file is missing, truncated or altered.
    """
    weights = read_tensors(path / WEIGHTS_FILE)
    moments = read_tensors(path / MOMENTS_FILE)
    return read_progress(path), weights, moments


def read_progress(path: Path) -> Progress:
    """The progress that a checkpoint records.

    Raises:
        SavedError: the file is missing or damaged.
    """
    try:
        state: dict[str, Any] = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
        best = state.pop("best")
        return Progress(**state, best=Best(**best) if best else None)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SavedError(
            f"{path / STATE_FILE}: missing or damaged; delete {path.name} to resume from the "
            "checkpoint before it"
        ) from error


def prune(run: Path, keep: int, best: Best | None) -> None:
    """Delete all but the newest ``keep`` checkpoints and the best."""
    for checkpoint in checkpoints(run)[:-keep]:
        if best is None or step_of(checkpoint) != best.step:
            shutil.rmtree(checkpoint, ignore_errors=True)


def sweep(run: Path) -> None:
    """Delete half-written checkpoints that a killed process left behind."""
    for leftover in (run / CHECKPOINTS_DIRECTORY).glob(".step-*"):
        shutil.rmtree(leftover, ignore_errors=True)
