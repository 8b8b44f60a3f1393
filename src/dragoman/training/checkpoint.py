"""A run's checkpoints: ``checkpoints/step-000500/`` with weights, moments and progress.

A checkpoint is written whole or not at all, and digests reveal later changes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter
from torch import Tensor

from dragoman.core.errors import SavedError
from dragoman.core.files import atomic_directory, remove_directory
from dragoman.evaluation.metrics import is_better
from dragoman.saved.model import CHECKPOINTS_DIRECTORY, CONVERTED_DIRECTORY
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors, write_tensors
from dragoman.training.bounds import Watched
from dragoman.training.schedule import EarlierEnd
from dragoman.training.sharding.interface import AVERAGE

MOMENTS_FILE = "optimizer.safetensors"
STATE_FILE = "state.json"
_FILES = frozenset([WEIGHTS_FILE, MOMENTS_FILE, STATE_FILE, CONVERTED_DIRECTORY])
_NAME = re.compile(r"step-(\d+)")

Count = Annotated[int, Field(ge=0, lt=2**53)]
"""The bound is the largest count that a double holds exactly, as tensors of totals are doubles."""
Finite = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass
class Best:
    """The best validation so far."""

    metric: str
    value: float
    step: Count
    measured: str = ""
    """Digest of the settings that it was measured with; empty if unknown."""


@dataclass(frozen=True)
class Place:
    """How far a task's stream of batches has been read."""

    epoch: Count = 0
    """Passes over the data completed."""
    window: Count = 0
    """The current window of the epoch."""
    step: Count = 0
    """Steps taken in the current window."""


@dataclass
class Unlogged:
    """Sums over the steps since the last log record; the next record has their means."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    steps: Count = 0
    totals: dict[str, dict[str, float]] = field(default_factory=dict)
    """The totals of each task, by the task's name and the total's name."""
    norm: Finite = 0.0
    """Summed norm of the gradient."""
    learning_rate: Finite = 0.0
    """Learning rate of the last step."""
    seconds: Finite = 0.0
    tallies: dict[str, list[float] | list[list[float]]] = field(default_factory=dict)
    """Tallies of the model's modules, by module name; empty for most families."""


@dataclass
class Progress:
    """How far a run has come; with weights and moments, everything that resuming needs.

    It holds no generator state, since batches and dropout are functions of seed, place and step.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    step: Count = 0
    """Optimizer steps taken, skipped ones included."""
    places: dict[str, Place] = field(default_factory=dict)
    """How far each task's stream was read, by task name; the first task comes first."""
    target_tokens: Count = 0
    """Target tokens learned from, padding excluded."""
    seconds: Finite = 0.0
    """Time spent training, validation excluded."""
    validated_step: Count = 0
    """The last step at which the model was validated."""
    best: Best | None = None
    stale_validations: Count = 0
    """Validations since the best one."""
    rollbacks: Count = 0
    """How often training went back to a checkpoint after a non-finite loss."""
    learning_rate_factor: Finite = 1.0
    """Lowered by each rollback."""
    non_finite: Count = 0
    """Steps in a row, up to the newest, that were skipped because the loss was not finite."""
    early_losses: list[float] = field(default_factory=list)
    """Losses per token of the first steps, to see later whether anything was learned."""
    watched: Watched | None = None
    """The scores that ``training.bounds`` bounds; None until they are measured."""
    device_tokens: Count | None = None
    """The lowered ``training.device_tokens`` if memory ran out."""
    asked_tokens: Count | None = None
    """The configured ``training.device_tokens`` when it was lowered."""
    end: EarlierEnd | None = None
    """The end of the decay of the learning rate, if time is too short for ``max_steps``."""
    unlogged: Unlogged | None = None
    """Sums not logged yet, if any; they make the log independent of where a run was stopped."""
    unplanned: bool = False
    """Whether a signal caused this checkpoint; an uninterrupted run has none of these."""

    def see(self, metric: str, value: float, measured: str) -> None:
        """Record a validation: the best so far, or another without improvement.

        ``measured`` is the digest of the settings that the metric's value was measured with.
        """
        if self.best is None or is_better(metric, value, self.best.value):
            self.best, self.stale_validations = Best(metric, value, self.step, measured), 0
        else:
            self.stale_validations += 1

    def forget_incomparable(self, metric: str, measured: str) -> None:
        """Forget the best validation if the current settings would have given it another value."""
        if self.best is None:
            return
        same = self.best.metric == "loss" or self.best.measured in {"", measured}
        if self.best.metric != metric or not same:
            self.best, self.stale_validations = None, 0

    @property
    def epoch(self) -> int:
        """Completed passes over the data of the first task."""
        return next(iter(self.places.values()), Place()).epoch


_PROGRESS = TypeAdapter(Progress)
# Runs of older versions of Dragoman lack these.
_NEWER = ("watched", "device_tokens", "asked_tokens", "end", "unlogged", "unplanned", "non_finite")


def path_of(run: Path, step: int) -> Path:
    """The path of the checkpoint of ``step``."""
    return run / CHECKPOINTS_DIRECTORY / f"step-{step:06d}"


def checkpoints(run: Path) -> list[Path]:
    """A run's checkpoints, oldest first, including damaged ones, which raise when read."""
    folder = run / CHECKPOINTS_DIRECTORY
    try:
        names = os.listdir(folder) if os.path.isdir(folder) else []
    except OSError as error:
        raise SavedError(f"{folder}: cannot be read: {error.strerror}") from error
    paths = (folder / name for name in names if _NAME.fullmatch(name))
    return sorted((path for path in paths if path.is_dir()), key=step_of)


def planned_checkpoints(run: Path) -> list[Path]:
    """The checkpoints that an uninterrupted run would also have."""
    return [path for path in checkpoints(run) if not _is_unplanned(path)]


def checkpoint_to_return_to(run: Path, progress: Progress) -> Path | None:
    """The newest planned checkpoint whose weights may be sound after non-finite steps.

    A checkpoint written during the non-finite steps has the weights with which they began, and the
    last checkpoint before them may have these weights as well.  That checkpoint is tried once, then
    the checkpoint before it.  If there is no other, the newest is returned.
    """
    planned = planned_checkpoints(run)
    last_finite = progress.step - progress.non_finite
    for path in reversed(planned):
        saved = read_progress(path)
        was_tried = saved.step == last_finite and saved.rollbacks < progress.rollbacks
        if saved.step <= last_finite and not saved.non_finite and not was_tried:
            return path
    return planned[-1] if planned else None


def _is_unplanned(checkpoint: Path) -> bool:
    """Whether a signal caused it; a damaged checkpoint counts as planned and raises when read."""
    with suppress(SavedError):
        return read_progress(checkpoint).unplanned
    return False


def newest_checkpoints(run: Path, count: int) -> list[Path]:
    """The newest ``count`` checkpoints to average, oldest first, or all if there are fewer.

    A checkpoint that a signal caused counts only while it is the newest, so that a resumed run
    gives the same model as an uninterrupted run.
    """
    paths = checkpoints(run)
    return [path for path in paths if path == paths[-1] or not _is_unplanned(path)][-count:]


def step_of(checkpoint: Path) -> int:
    """The step at which a checkpoint was written."""
    return int(checkpoint.name.removeprefix("step-"))


def write_checkpoint(
    run: Path, progress: Progress, weights: dict[str, Tensor], moments: dict[str, Tensor]
) -> Path:
    """Write the checkpoint of ``progress.step``."""
    path = path_of(run, progress.step)
    with atomic_directory(path, _FILES) as temporary:
        write_tensors(temporary / WEIGHTS_FILE, weights)
        write_tensors(temporary / MOMENTS_FILE, moments)
        values = dataclasses.asdict(progress)
        for name in _NEWER:
            if not values[name]:
                del values[name]
        if progress.unlogged and not progress.unlogged.tallies:
            del values["unlogged"]["tallies"]  # unknown to older versions of Dragoman
        state = json.dumps(values, indent=2)
        (temporary / STATE_FILE).write_text(state + "\n", encoding="utf-8")
    return path


def read_checkpoint(path: Path) -> tuple[Progress, dict[str, Tensor], dict[str, Tensor]]:
    """Progress, weights and moments of a checkpoint.

    Raises:
        SavedError: a file is missing, truncated or altered; the message names the remedy.
    """
    progress = read_progress(path)
    try:
        return progress, read_tensors(path / WEIGHTS_FILE), read_tensors(path / MOMENTS_FILE)
    except SavedError as error:
        raise SavedError(f"{error}; or {_remedy(path)}") from error


def read_progress(path: Path) -> Progress:
    """The progress that a checkpoint records.

    Raises:
        SavedError: the file is missing or damaged.
    """
    try:
        progress = _PROGRESS.validate_json((path / STATE_FILE).read_bytes())
        if progress.step != step_of(path):
            raise ValueError("belongs to another step")
        return progress
    except (OSError, ValueError) as error:
        raise SavedError(f"{path / STATE_FILE}: missing or damaged; {_remedy(path)}") from error


def chosen_checkpoints(run: Path, count: int, metric: str | None = None) -> list[Path]:
    """The checkpoints from which a run's model is made: the newest ``count``, or the best for 0.

    If bounds are watched, the newest is the newest within bounds, or the first if none is.  If the
    best is unknown, as after a change of ``best_metric``, it is the newest.

    ``metric`` selects the best; None for the metric used in training.

    Raises:
        SavedError: the run has no checkpoint yet.
    """
    written = checkpoints(run)
    if not written:
        raise SavedError(f"{run}: no checkpoint yet; train first")
    progress = read_progress(written[-1])
    best = progress.best
    if not count and best is not None and metric in {None, best.metric}:
        return [path_of(run, best.step)]
    if progress.watched is not None:
        return [path_of(run, progress.watched.kept_step or 0)]
    return newest_checkpoints(run, max(1, count))


def moving_average(path: Path) -> dict[str, Tensor]:
    """The moving average of the weights in a checkpoint, by the names of the weights."""
    try:
        moments = read_tensors(path / MOMENTS_FILE)
    except SavedError as error:
        raise SavedError(f"{error}; or {_remedy(path)}") from error
    prefix = len(AVERAGE)
    return {name[prefix:]: t for name, t in moments.items() if name.startswith(AVERAGE)}


def _remedy(path: Path) -> str:
    return f"delete {path.name} to resume from the checkpoint before it"


def prune(run: Path, keep: int, progress: Progress) -> None:
    """Delete all but the newest ``keep`` checkpoints, the best and the newest within bounds.

    If bounds are watched, the first stays as well: the model may lie between it and the newest.
    A checkpoint that a signal caused is not counted, and is deleted when the next is written.
    During non-finite steps, the newest checkpoint from before them stays for the rollback.
    """
    spared = {progress.step, *map(step_of, planned_checkpoints(run)[-keep:])}
    if progress.best is not None:
        spared.add(progress.best.step)
    if progress.watched is not None:
        spared |= {0, progress.watched.kept_step or 0}
    if progress.non_finite and (sound := checkpoint_to_return_to(run, progress)) is not None:
        spared.add(step_of(sound))
    for checkpoint in checkpoints(run):
        if step_of(checkpoint) not in spared:
            remove_directory(checkpoint)
