"""Learning curves of several runs: a table, and one picture."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Literal

from dragoman.core.errors import SavedError
from dragoman.core.text_tables import markdown_table
from dragoman.evaluation.metric_names import metric_names
from dragoman.evaluation.metrics import higher_is_better, metric_named
from dragoman.experiment import METRICS_FILE

Axis = Literal["step", "tokens", "minutes"]
"""Horizontal axis of curves: steps, millions of target tokens, or minutes of training."""

Point = tuple[float, float]


@dataclass(frozen=True)
class RunCurves:
    """The figures that a run has recorded."""

    name: str
    records: Records

    @classmethod
    def read(cls, run: Path, name: str) -> RunCurves:
        """Read a run, even while it trains."""
        records = [record for record in read_records(run / METRICS_FILE) if _is_record(record)]
        if not any(record.get("kind") == "training" for record in records):
            raise SavedError(
                f"{run}: no figures of a training here ({METRICS_FILE}); name the directory of a "
                "run, and wait until it has made its first steps"
            )
        return cls(name, records)

    def points(self, kind: str, figure: str, axis: Axis = "step") -> list[Point]:
        """The values of a figure, each behind its place on an axis.

        Args:
            kind: of records: ``training`` or ``validation``.
            axis: tokens and minutes of a validation are those of the training before it.
        """
        fitting = [
            record for record in self.records if record.get("kind") == kind and figure in record
        ]
        if axis == "step":
            return [(record["step"], record[figure]) for record in fitting]
        key, unit = ("target_tokens", 1e6) if axis == "tokens" else ("seconds", 60.0)
        steps, places = [0], [0.0]
        for record in self.records:
            if record.get("kind") == "training" and key in record:
                steps.append(record["step"])
                places.append(record[key] / unit)
        return [
            (places[bisect_right(steps, record["step"]) - 1], record[figure]) for record in fitting
        ]

    @property
    def metrics(self) -> list[str]:
        """The metrics of the dev set that it recorded."""
        return [figure for figure in dev_figures() if self.points("validation", figure)]

    def best(self, figure: str) -> Point | None:
        """The step and value of the best figure on the dev set; None without any."""
        points = [point for point in self.points("validation", figure) if not isnan(point[1])]
        choose = max if higher_is_better(figure) else min
        return choose(points, key=lambda point: point[1], default=None)

    def to_json(self) -> dict[str, Any]:
        """The run's size, and the best value of each dev figure with its step."""
        last = [one for one in self.records if one.get("kind") == "training"][-1]
        best = {one: self.best(one) for one in ("loss", *self.metrics)}
        return {
            "run": self.name,
            "steps": last["step"],
            "target_tokens": last.get("target_tokens"),
            "seconds": last.get("seconds"),
            "training_loss": last.get("nll"),
            "best": {
                name: {"step": point[0], "value": point[1]} for name, point in best.items() if point
            },
        }


def _is_record(record: Any) -> bool:
    """Whether a line of the file has the form of a run's record."""
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        return False
    others = [value for name, value in record.items() if name not in ("kind", "message")]
    return isinstance(record.get("step"), int) and all(isinstance(v, (int, float)) for v in others)


def read_curves(runs: Sequence[Path]) -> list[RunCurves]:
    """The curves of runs, by the names of their directories, or their paths if these are equal."""
    names = [run.resolve().name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run) for run in runs]
    return [RunCurves.read(run, name) for run, name in zip(runs, names, strict=True)]


def curves_table(curves: Sequence[RunCurves]) -> str:
    """A table in Markdown: a row for each run."""
    summaries = [one.to_json() for one in curves]
    figures = [
        name for name in ("loss", *dev_figures()) if any(name in one["best"] for one in summaries)
    ]
    titles = ["run", "steps", "target tokens", "minutes", "training loss"]
    titles += [f"best {figure_label(one)} (step)" for one in figures]
    rows = []
    for one in summaries:
        cells = [one["run"], f"{one['steps']:,}"]
        cells.append("" if one["target_tokens"] is None else f"{one['target_tokens']:,}")
        cells.append("" if one["seconds"] is None else f"{one['seconds'] / 60:.1f}")
        cells.append("" if one["training_loss"] is None else f"{one['training_loss']:.3f}")
        for name in figures:
            best = one["best"].get(name)
            cells.append(f"{best['value']:.2f} ({best['step']:,})" if best else "")
        rows.append(cells)
    return markdown_table(titles, rows, "l" + "r" * (len(titles) - 1))


_ROUND_TRIP = "round_trip"


Records = Sequence[dict[str, Any]]


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of ``metrics.jsonl``, without a line cut by a crash; empty if it is missing."""
    records = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return records


def dev_figures() -> list[str]:
    """Figures of a dev set besides loss and perplexity, in the order of reports."""
    return [*metric_names(), _ROUND_TRIP]


def figure_label(figure: str) -> str:
    """The label of a figure of a dev set in reports."""
    if figure == _ROUND_TRIP:
        return "BLEU of round trips"
    return "dev loss" if figure == "loss" else metric_named(figure).label
