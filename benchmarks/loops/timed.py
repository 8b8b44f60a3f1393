"""Trains by a recipe, and prints each validation as a line of JSON: scores, and the cost so far.

    python loops/timed.py RECIPE RUN [SETTING=VALUE ...]

Cost is the processor time of all threads from the first step on, without validations, and the
target tokens learned from.  The recipe logs at each validation, or time since the last log is lost.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from dragoman.experiment import Experiment
from dragoman.recipe import read_experiment
from dragoman.training.distributed import World
from dragoman.training.observers import Observer, Record


class Clock(Observer):
    """Measures processor time, and prints it with each validation."""

    def __init__(self) -> None:
        self._spent, self._since = 0.0, time.process_time()
        self._tokens = 0

    def record(self, record: Record) -> None:
        """Count up to a record of training, and again from a validation on."""
        now = time.process_time()
        if record["kind"] == "training":
            self._spent, self._since = self._spent + now - self._since, now
            self._tokens = record["target_tokens"]
        elif record["kind"] == "validation":
            self._since = now
            cost: dict[str, Any] = {
                "cpu_minutes": round(self._spent / 60, 3),
                "target_tokens": self._tokens,
            }
            print(json.dumps({**record, **cost}), flush=True)

    def rewind(self, step: int) -> None:
        """Lost steps have taken their time."""

    def close(self) -> None:
        """Nothing is open."""


def main(recipe: Path, run: Path, settings: list[str]) -> None:
    """Prepare, then train to the end of the recipe."""
    experiment = Experiment.create(read_experiment(recipe, settings), run)
    prepared = experiment.prepare()
    experiment.train(prepared, World.join(), lambda step: [Clock()])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
