"""CSV files of a run, as Python's csv reads them."""

from __future__ import annotations

import csv
from pathlib import Path

from dragoman.workflows.trackers import TrackedRun
from dragoman.workflows.trackers.csv_tracker import CsvFiles


def tracker(folder: Path, step: int) -> CsvFiles:
    return CsvFiles(TrackedRun(folder, "my", None, {}, step))


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def test_each_step_is_there_once_also_after_a_line_that_was_cut_off(tmp_path: Path) -> None:
    files = tracker(tmp_path, 0)
    for step in (1, 2, 3):
        files.figures({"training/loss": 5.0 - step, "training/nll": 0.5}, step)
        files.table("translations/dev", ("line", "text"), [[7, 'say "a,\nb"']], step)
    files.rewind(2)
    files.figures({"training/loss": 9.0}, 3)
    files.close()
    path = tmp_path / "csv" / "figures.csv"
    with path.open("a", encoding="utf-8") as stream:
        stream.write("4,training/lo")
    resumed = tracker(tmp_path, 3)
    resumed.figures({"training/loss": 8.0}, 4)
    resumed.close()
    assert rows(path) == [
        ["step", "figure", "value"],
        ["1", "training/loss", "4.0"],
        ["1", "training/nll", "0.5"],
        ["2", "training/loss", "3.0"],
        ["2", "training/nll", "0.5"],
        ["3", "training/loss", "9.0"],
        ["4", "training/loss", "8.0"],
    ]
    translations = rows(tmp_path / "csv" / "translations-dev.csv")
    assert translations[0] == ["step", "line", "text"]
    assert translations[1:] == [[str(step), "7", 'say "a,\nb"'] for step in (1, 2)]
