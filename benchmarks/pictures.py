"""Pictures in the docs, redrawn from the figures that the docs publish.

Run ``python benchmarks/pictures.py`` after changing how they are drawn; a new measurement draws its
own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from length import Cost
from matplotlib.figure import Figure

from dragoman.workflows.reports.figures import to_svg

DOCS = Path(__file__).resolve().parents[1] / "docs"
SPEED, MEMORY = "tab:blue", "tab:gray"
COST = re.compile(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \|$", re.M)
"""A row of the table of costs against length."""
GROWTH = re.compile(r"^\| (\w+: .+?)? ?\| (\d.*?) \| (.+?) \| (.+?) \|$", re.M)
"""A row of the table of what grows; only the first row of a curve has its name."""

Curves = Mapping[str, Sequence[tuple[float, float, float]]]
"""Size, rate per second and memory in GiB, by what grows."""


def growth_picture(curves: Curves) -> str:
    """One small plot for each thing that grows: speed, and memory beside it."""
    figure = Figure(figsize=(3.2 * len(curves), 3.4), layout="constrained")
    for axes, (label, rows) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        sizes, rates, memory = zip(*rows, strict=True)
        speed = axes.plot(sizes, rates, "o-", color=SPEED, label="speed, per second (left)")
        unit = "target tokens" if label.startswith("training") else "sentences"
        axes.set(xscale="log", xlabel=label, ylim=(0, 1.15 * max(rates)))
        axes.set_ylabel(f"{unit} per second", color=SPEED)
        beside = axes.twinx()
        used = beside.plot(sizes, memory, "s--", color=MEMORY, label="memory, GiB (right)")
        beside.set(ylim=(0, 1.3 * max(memory)))
        beside.set_ylabel("memory, GiB", color=MEMORY)
    figure.legend(handles=[*speed, *used], loc="outside upper center", ncols=2, frameon=False)
    return to_svg(figure, text_as_paths=True)


def published_growth() -> Curves:
    """The table of docs/results/growth.md."""
    text = (DOCS / "results" / "growth.md").read_text(encoding="utf-8")
    _, table = text.split("| what | size | per second | memory, GiB |", 1)
    curves: dict[str, list[tuple[float, float, float]]] = {}
    label = ""
    for name, *cells in GROWTH.findall(table):
        label = name or label
        size, rate, memory = (float(cell.replace(",", "")) for cell in cells)
        curves.setdefault(label, []).append((size, rate, memory))
    return curves


def length_picture(found: Mapping[str, Mapping[int, Cost]]) -> str:
    """Training and decoding side by side: a curve for each kind of self-attention."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for axes, price in zip(figure.subplots(1, 2), ("training", "decoding"), strict=True):
        for kind, costs in found.items():
            axes.plot(
                list(costs), [getattr(one, price) for one in costs.values()], "o-", label=kind
            )
        axes.set(xscale="log", yscale="log", xlabel="pieces of the target")
        axes.set_ylabel(f"{price}, µs per piece")
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False
    )
    return to_svg(figure, text_as_paths=True)


def published_lengths() -> dict[str, dict[int, Cost]]:
    """The table of docs/scaling.md."""
    text = (DOCS / "scaling.md").read_text(encoding="utf-8")
    found: dict[str, dict[int, Cost]] = {}
    for kind, *cells in COST.findall(text.split("## Cost against length", 1)[1]):
        pieces, training, decoding, memory = (float(cell.replace(",", "")) for cell in cells)
        found.setdefault(kind, {})[int(pieces)] = Cost(training, decoding, memory * 2**30)
    return found


def main() -> None:
    """Draw all pictures."""
    images = DOCS / "images"
    (images / "growth.svg").write_text(growth_picture(published_growth()), encoding="utf-8")
    (images / "length.svg").write_text(length_picture(published_lengths()), encoding="utf-8")


if __name__ == "__main__":
    main()
