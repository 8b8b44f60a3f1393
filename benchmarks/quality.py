"""Time to a stated quality: processor minutes and target tokens until dev sets have a score.

Each recipe is a candidate.  It is trained by one thread, and validated every few steps with the
search of the recipe.  Validations are not counted, so costs do not depend on their number.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click
from contenders import HERE, start
from machine import machine
from matplotlib.figure import Figure

from dragoman.workflows.reports.figures import to_svg

Point = dict[str, Any]
"""A validation: candidate, seed, step, cpu_minutes, target_tokens and scores."""

_COSTS = {"cpu_minutes": ("minutes", "{:.1f}"), "target_tokens": ("tokens", "{:,}")}
"""What a score costs: its name in the table, and how it is written."""


def curve(
    recipe: Path, seed: int, every: int, settings: Sequence[str], folder: Path
) -> Iterator[Point]:
    """Train by a recipe, and yield its validations."""
    name = f"{recipe.stem}-{seed}"
    run = folder / f"{name}-{time.time_ns()}"
    # A log line at every validation, as it ends the time that is counted.
    fixed = [f"seed={seed}", f"training.validation_steps={every}", f"training.log_steps={every}"]
    command = [sys.executable, HERE / "loops/timed.py", recipe, run, *settings, *fixed]
    more = {"OMP_NUM_THREADS": "1"}  # threads that wait for one another would count
    for line in start(command, folder, folder / f"{name}.log", more).output.splitlines():
        if line.startswith('{"kind": "validation"'):
            yield {"candidate": recipe.stem, "seed": seed, **json.loads(line)}


def read_points(path: Path) -> list[Point]:
    """The validations of a file of JSON lines; none if there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def curves(points: Sequence[Point]) -> dict[str, dict[int, list[Point]]]:
    """Validations by candidate and seed, in the order in which they were measured."""
    found: dict[str, dict[int, list[Point]]] = {}
    for point in points:
        found.setdefault(point["candidate"], {}).setdefault(point["seed"], []).append(point)
    return found


def cost_of(curve: Sequence[Point], metric: str, score: float, cost: str) -> float:
    """The cost of the first validation with at least ``score``; infinity if there is none."""
    return next((float(p[cost]) for p in curve if p[metric] >= score), float("inf"))


def table(points: Sequence[Point], metric: str, scores: Sequence[float]) -> Iterator[str]:
    """Rows of Markdown: for each candidate medians over its seeds."""
    heads = [f"{name} to {score:g}" for name, _ in _COSTS.values() for score in scores]
    ends = ["minutes", "tokens", f"{metric} at the end", f"best {metric}"]
    yield "| " + " | ".join(["candidate", "seeds", *heads, *ends]) + " |"
    yield "|---|" + "---:|" * (1 + len(heads) + len(ends))
    for candidate, seeds in curves(points).items():
        cells = [candidate, str(len(seeds))]
        for cost, (_, style) in _COSTS.items():
            for score in scores:
                cells.append(
                    _cell(style, [cost_of(c, metric, score, cost) for c in seeds.values()])
                )
        for cost, (_, style) in _COSTS.items():
            cells.append(_cell(style, [float(c[-1][cost]) for c in seeds.values()]))
        cells.append(_cell("{:.2f}", [c[-1][metric] for c in seeds.values()]))
        cells.append(_cell("{:.2f}", [max(p[metric] for p in c) for c in seeds.values()]))
        yield "| " + " | ".join(cells) + " |"


def _cell(style: str, values: Sequence[float]) -> str:
    """Their median; a dash if half of the seeds never had the score."""
    middle = median(values)
    if middle == float("inf"):
        return "–"
    return style.format(int(middle) if style == "{:,}" else middle)


def picture(points: Sequence[Point], metric: str) -> str:
    """Scores on the dev sets against processor minutes: a colour for each candidate."""
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    for number, (candidate, seeds) in enumerate(curves(points).items()):
        for turn, curve in enumerate(seeds.values()):
            axes.plot(
                [point["cpu_minutes"] for point in curve],
                [point[metric] for point in curve],
                ".-",
                color=f"C{number}" if number < 10 else str((number - 9) / 12),
                label=candidate if turn == 0 else None,
            )
    axes.set(xlabel="processor minutes, without validation", ylabel=f"{metric} on the dev sets")
    axes.legend(frameon=False, fontsize="small")
    return to_svg(figure, text_as_paths=True)


@click.command()
@click.argument(
    "recipes", nargs=-1, type=click.Path(path_type=Path, exists=True, resolve_path=True)
)
@click.option("--seed", "seeds", multiple=True, type=int, default=(1,), show_default=True)
@click.option("--every", type=click.IntRange(1), default=100, help="Steps between validations.")
@click.option(
    "--metric", default="bleu", show_default=True, help="Metric of the recipes' dev sets."
)
@click.option(
    "--reach", "scores", multiple=True, type=float, default=(32, 35, 38, 40, 41), help="Scores."
)
@click.option("--set", "settings", multiple=True, help="A setting of all recipes, KEY=VALUE.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, resolve_path=True),
    default=HERE / "results/quality.jsonl",
    help="JSON lines that validations are added to, beside which a table and a picture are drawn.",
)
@click.pass_obj
def quality(
    obj: tuple[Any, Path],
    recipes: tuple[Path, ...],
    seeds: tuple[int, ...],
    every: int,
    metric: str,
    scores: tuple[float, ...],
    settings: tuple[str, ...],
    results: Path,
) -> None:
    """Processor minutes and tokens until dev sets have a score, for each recipe.

    Without recipes, the table and the picture are drawn again from what was measured before.
    """
    folder = obj[0].folder / "quality"
    for path in (folder, results.parent):
        path.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for recipe in recipes:
            click.echo(f"{recipe.stem}, seed {seed} ...", err=True)
            with results.open("a", encoding="utf-8") as stream:
                for point in curve(recipe, seed, every, settings, folder):
                    stream.write(json.dumps(point) + "\n")
    points = read_points(results)
    lines = [f"Learning speed: {machine(threads=1)}", "", *table(points, metric, scores)]
    click.echo("\n".join(lines))
    results.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    results.with_suffix(".svg").write_text(picture(points, metric), encoding="utf-8")
