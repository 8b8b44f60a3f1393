"""Whether fast training learns as plain training does: loss curves from the same initial weights.

Per seed, ``dragoman train`` in its own choice of number type and ``loops/plain.py`` in float32
see the same batches; only dropout masks and rounding differ.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev

from contenders import HERE, start
from shared_material import Material, dragoman

EVERY = 20
"""Steps averaged into one point of a curve."""
SETTINGS = {
    "training.log_steps": EVERY,
    "training.schedule": "{warmup_steps: 200, peak_learning_rate: 0.002}",
    "data.test": "{}",
    "search": "{beam: 1, maximum_length: 1}",  # of the validation at the end
}

Curve = list[float]


def ours(material: Material, run: Path, seed: int, steps: int) -> Curve:
    """Points of a run of ``dragoman train``."""
    settings = {**SETTINGS, "seed": seed, "training.max_steps": steps}
    values = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    dragoman("train", material.config("tiny"), "--run", run, *values)
    records = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [record["nll"] for record in records if record["kind"] == "training"]


def plain(run: Path, steps: int, log: Path) -> Curve:
    """The same points of the plain loop, on the data and the settings of that run."""
    finished = start([sys.executable, HERE / "loops/plain.py", run, steps], HERE, log)
    found = json.loads(finished.output.splitlines()[-1])
    points = [found[first : first + EVERY] for first in range(0, steps, EVERY)]
    return [sum(nll for nll, _ in part) / sum(n for _, n in part) for part in points]


def table(curves: dict[int, tuple[Curve, Curve]]) -> Iterable[str]:
    """Rows of Markdown: means over the seeds, and the spread of pairs and of seeds."""
    yield "| step | Dragoman | plain | difference | its spread | spread of plain over seeds |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for point in range(len(next(iter(curves.values()))[0])):
        fast = [one[point] for one, _ in curves.values()]
        slow = [other[point] for _, other in curves.values()]
        apart = [a - b for a, b in zip(fast, slow, strict=True)]
        yield (
            f"| {EVERY * (point + 1)} | {mean(fast):.4f} | {mean(slow):.4f} | {mean(apart):+.4f} "
            f"| {_spread(apart)} | {_spread(slow)} |"
        )


def _spread(values: list[float]) -> str:
    return f"{stdev(values):.4f}" if len(values) > 1 else ""
