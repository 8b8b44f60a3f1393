"""Panels of curves with logarithmic axes, on which growth is a slope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from dragoman.workflows.reports.plots import finish


@dataclass(frozen=True)
class Curve:
    """Values over sizes."""

    label: str
    sizes: Sequence[float]
    values: Sequence[float]
    color: str
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """Curves that share their axes."""

    title: str
    size: str
    """Name of the quantity on the horizontal axis."""
    curves: Sequence[Curve]


def logarithmic_panels(panels: Sequence[Panel], columns: int) -> Figure:
    """Growth as slopes: both axes logarithmic, one legend for all; panels have the same curves."""
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(2.9 * columns, 2.5 * rows + 0.5), layout="constrained")
    for axes, panel in zip(figure.subplots(rows, columns).flat, panels, strict=True):
        for curve in panel.curves:
            line = "--" if curve.dashed else "-"
            axes.plot(
                curve.sizes, curve.values, line, color=curve.color, label=curve.label, linewidth=1.4
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        finish(axes, panel.title, x_label=panel.size, legend=False)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
    return figure
