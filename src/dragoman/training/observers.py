"""What a run reports while it trains: observers, one of which writes ``metrics.jsonl``.

The trainer hands each :data:`Record` to its observers; a record is a flat mapping with
``kind`` (``training``, ``validation`` or ``warning``), ``step`` and figures.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from dragoman.core.files import atomic_write, storage_errors
from dragoman.training.tasks import TOKENS, Task

Record = dict[str, Any]


class Observer(Protocol):
    """Receives what training reports."""

    def record(self, record: Record) -> None:
        """Receive one record."""

    def rewind(self, step: int) -> None:
        """Training went back to ``step``: discard the records of later ones."""

    def close(self) -> None:
        """Training has ended or been interrupted."""


class MetricsFile:
    """One JSON object per line; lines of later steps are removed when training goes back.

    Args:
        path: the file, which may exist.
        step: at which training begins or continues.
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
            # A checkpoint survives a power loss, so what led to it must too.
            os.fsync(self._stream.fileno())

    def rewind(self, step: int) -> None:
        """Remove the lines of later steps."""
        self._stream.close()
        self._stream = self._kept_until(step)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _step(line: str) -> float:
    """The step of a line; infinity for a damaged one, as a crash may leave the last line."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return float("inf")


class Averages:
    """Means over the steps since the figures were last read.

    Args:
        tasks: being learned; figures of all but the first are named after their task.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._clear()

    def _clear(self) -> None:
        self._totals: list[dict[str, float]] = [defaultdict(float) for _ in self._tasks]
        self._norm = self._rate = 0.0
        self._steps = 0
        self._seconds = 0.0

    def wait(self, seconds: float) -> None:
        """Add the time of a step, validation and checkpoints excluded."""
        self._seconds += seconds

    def add(self, totals: Sequence[Mapping[str, float]], norm: float, rate: float) -> None:
        """Add one step: each task's totals, gradient norm and learning rate."""
        for sums, one in zip(self._totals, totals, strict=True):
            for name, value in one.items():
                sums[name] += value
        self._norm += norm
        self._rate = rate
        self._steps += 1

    def figures(self) -> dict[str, float]:
        """Means since the last call; empty if no step was taken."""
        if not self._steps:
            return {}
        figures: dict[str, float] = {}
        for number, (task, sums) in enumerate(zip(self._tasks, self._totals, strict=True)):
            if not sums[TOKENS]:
                continue  # it weighed nothing
            prefix = f"{task.name}_" if number else ""
            found = task.objective.figures(sums)
            figures |= {f"{prefix}{name}": value for name, value in found.items()}
        tokens = sum(sums[TOKENS] for sums in self._totals)
        figures |= {
            "learning_rate": self._rate,
            "gradient_norm": self._norm / self._steps,
            "tokens_per_second": tokens / max(self._seconds, 1e-9),
        }
        self._clear()
        return figures
