"""Figures and translations of a run as CSV files, for spreadsheets and pandas."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from typing_extensions import override

from dragoman.core.files import atomic_write
from dragoman.workflows.trackers.interface import Cell, TrackedRun, Tracker

_FIGURES = "figures.csv"
_HEAD = ("step", "figure", "value")


class CsvFiles(Tracker):
    """The directory ``csv`` of the run.

    ``figures.csv`` has a row for each step and figure.  Each table has a file of its own, such as
    ``translations-dev.csv``, whose first column is the step.
    """

    name = "csv"
    forgets = True

    def __init__(self, run: TrackedRun) -> None:
        super().__init__(run)
        self._folder = run.directory / "csv"
        self._folder.mkdir(exist_ok=True)
        self._streams: dict[Path, TextIO] = {}
        self.rewind(run.step)

    @override
    def figures(self, values: Mapping[str, float], step: int) -> None:
        self._append(_FIGURES, _HEAD, [(step, name, value) for name, value in values.items()])

    @override
    def table(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], step: int
    ) -> None:
        file = f"{name.replace('/', '-')}.csv"
        self._append(file, ("step", *columns), [(step, *row) for row in rows])

    def _append(self, file: str, head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        path = self._folder / file
        if path not in self._streams:
            begins = not path.exists()
            self._streams[path] = path.open("a", encoding="utf-8", newline="")
            rows = [head, *rows] if begins else rows
        csv.writer(self._streams[path]).writerows(rows)
        self._streams[path].flush()

    @override
    def rewind(self, step: int) -> None:
        """Remove the rows of later steps, and one that was cut off."""
        self.close()
        for path in self._folder.glob("*.csv"):
            with path.open(encoding="utf-8", errors="replace", newline="") as stream:
                head, *rows = list(csv.reader(stream)) or [[]]
            with atomic_write(path) as written:
                kept = [row for row in rows if len(row) == len(head) and _step(row[0]) <= step]
                csv.writer(written).writerows([head, *kept])

    @override
    def close(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams = {}


def _step(text: str) -> float:
    return int(text) if text.isdecimal() else float("inf")
