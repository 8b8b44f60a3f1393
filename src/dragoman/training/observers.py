"""Reports of a run while it trains: observers, averages, and signs that nothing is learned.

The trainer passes each :data:`Record` to its observers.  A record is a flat mapping with
``kind`` (``training``, ``validation`` or ``warning``), ``step`` and figures.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from dragoman.core.files import atomic_write, storage_errors
from dragoman.training.checkpoint import Unlogged
from dragoman.training.tasks import TOKENS, Task

Record = dict[str, Any]

EARLY_STEPS = 50
"""Number of first steps whose losses are kept."""
_JUDGED_FROM = 500
_CHECKED_EVERY = 500


class Observer(Protocol):
    """Receives the records of training."""

    def record(self, record: Record) -> None:
        """Receive one record."""

    def rewind(self, step: int) -> None:
        """Discard the records of steps after ``step``, to which training went back."""

    def close(self) -> None:
        """Training has ended or been interrupted."""


class MetricsFile:
    """One JSON object per line; lines of later steps are removed when training goes back.

    Args:
        path: the file, which may exist.
        step: the step at which training begins or continues.
    """

    def __init__(self, path: Path, step: int) -> None:
        self._path = path
        self._stream = self._kept_until(step)

    def _kept_until(self, step: int) -> TextIO:
        """The file without the lines of later steps, open for appending."""
        path = self._path
        with storage_errors(path):
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        with atomic_write(path) as stream:
            for line in text.splitlines():
                if _step(line) <= step:
                    stream.write(line + "\n")
        with storage_errors(path):
            return path.open("a", encoding="utf-8")

    def record(self, record: Record) -> None:
        """Append a line."""
        with storage_errors(self._path):
            self._stream.write(json.dumps(record) + "\n")
            self._stream.flush()
            # A checkpoint survives a power loss, so the records before it must as well.
            os.fsync(self._stream.fileno())

    def rewind(self, step: int) -> None:
        """Remove the lines of later steps."""
        self.close()
        self._stream = self._kept_until(step)

    def close(self) -> None:
        """Close the file."""
        with storage_errors(self._path):  # where a line was refused, it is tried once more
            self._stream.close()


def _step(line: str) -> float:
    """The step of a line; infinity for a damaged line, as a crash may damage the last line."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return float("inf")


class Averages:
    """Means over the steps since the figures were last read.

    Args:
        tasks: the learned tasks; figures of all but the first are named after their task.
        before: sums over the steps of an earlier process.
    """

    def __init__(self, tasks: Sequence[Task], before: Unlogged | None = None) -> None:
        self._tasks = tasks
        self._begin(before or Unlogged())

    def _begin(self, sums: Unlogged) -> None:
        self._sums = sums
        sums.totals = {
            task.name: dict.fromkeys(task.objective.totals, 0.0) | sums.totals.get(task.name, {})
            for task in self._tasks
        }

    @property
    def unlogged(self) -> Unlogged | None:
        """The sums since the figures were last read; None if no step was taken."""
        return self._sums if self._sums.steps else None

    def wait(self, seconds: float) -> None:
        """Add the time of a step, validation and checkpoints excluded."""
        self._sums.seconds += seconds

    def add(self, totals: Sequence[Mapping[str, float]], norm: float, rate: float) -> None:
        """Add one step: each task's totals, gradient norm and learning rate."""
        for task, own in zip(self._tasks, totals, strict=True):
            sums = self._sums.totals[task.name]
            for name, value in own.items():
                sums[name] += value
        self._sums.norm += norm
        self._sums.learning_rate = rate
        self._sums.steps += 1

    def figures(self) -> dict[str, float]:
        """Means since the last call; empty if no step was taken."""
        taken = self._sums
        if not taken.steps:
            return {}
        figures: dict[str, float] = {}
        for number, task in enumerate(self._tasks):
            sums = taken.totals[task.name]
            if not sums[TOKENS]:
                continue  # it weighed nothing
            prefix = f"{task.name}_" if number else ""
            own = task.objective.figures(sums)
            figures |= {f"{prefix}{name}": value for name, value in own.items()}
        tokens = sum(sums[TOKENS] for sums in taken.totals.values())
        figures |= {
            "learning_rate": taken.learning_rate,
            "gradient_norm": taken.norm / taken.steps,
            "tokens_per_second": tokens / max(taken.seconds, 1e-9),
        }
        self._begin(Unlogged())
        return figures


def likelihood(figures: Mapping[str, float]) -> float:
    """The negative log-likelihood if the objective reports one, otherwise its loss."""
    return figures.get("nll", figures["loss"])


def learns_nothing(early_losses: list[float], loss: float, step: int) -> str | None:
    """A warning if the loss is hardly below that of the first steps.

    Even a model that ignores the source soon learns how frequent each piece is, which lowers the
    loss of a fresh model by several nats.  A drop of only 5 % means that something is wrong.
    Losses are in nats per token: of the first steps, and now, after ``step`` steps.
    """
    if step < _JUDGED_FROM or step % _CHECKED_EVERY or len(early_losses) < EARLY_STEPS:
        return None
    if loss < 0.95 * max(early_losses):
        return None
    return (
        f"nothing is being learned: the loss is {loss:.2f} nats per token, after "
        f"{max(early_losses):.2f} in the first steps; check that source and target lines "
        "belong together, and the learning rate"
    )


def output_is_constant(hypotheses: list[str]) -> str | None:
    """A warning if (nearly) all hypotheses of a dev set are the same sentence."""
    distinct = len(set(hypotheses))
    if len(hypotheses) < 20 or distinct > max(1, len(hypotheses) // 50):
        return None
    return (
        f"the output is constant: {distinct} different translations of {len(hypotheses)} "
        "sentences; normal in the first minutes, later a sign that nothing is being learned"
    )
