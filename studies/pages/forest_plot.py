"""Forest plots as SVG: a row for each figure, with its interval and the line of no difference.

The picture is written by hand, a few kilobytes of text that are the same everywhere: matplotlib's
are ten times as large and change with its version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain

from studies.pages.result_data import ResultTable
from studies.pages.written_figures import Figure, read_figure

_LABELS, _PANEL, _GAP, _ROW, _TOP, _BOTTOM = 330, 250, 24, 20, 34, 30  # pixels
_LETTERS = 48  # that fit beside the panels
_COLOURS = {True: "#1f5fa8", False: "#8a8a8a"}  # beyond chance, and not
_MOST_TICKS = 6
_PLAIN = str.maketrans("", "", "*`")
_STYLE = "font-family:system-ui,sans-serif;font-size:12px"


@dataclass(frozen=True)
class _Axis:
    """Values of a panel, from left to right."""

    low: float
    high: float
    left: float

    def place(self, value: float) -> float:
        return self.left + _PANEL * (value - self.low) / (self.high - self.low)


def forest_plot(table: ResultTable) -> str:
    """The picture of a table that has a plot: rows without any figure are left out."""
    assert table.plot is not None
    plot = table.plot
    rows = [
        (", ".join(row[column] for column in plot.labels).translate(_PLAIN), found)
        for row in table.rows[plot.skip :]
        if any(found := [read_figure(row[column]) for column in plot.columns])
    ]
    width = _LABELS + len(plot.columns) * (_PANEL + _GAP)
    height = _TOP + _ROW * len(rows) + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="{_STYLE}" role="img">',
        f"<title>{escape(table.title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *(_label(number, label) for number, (label, _) in enumerate(rows)),
    ]
    for number, name in enumerate(plot.names):
        left = _LABELS + number * (_PANEL + _GAP)
        parts += _panel(name, [found[number] for _, found in rows], left)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _label(number: int, text: str) -> str:
    shown = text if len(text) <= _LETTERS else text[: _LETTERS - 1].rstrip() + "…"
    return _text(_LABELS - 10, _middle(number) + 4, shown, "end")


def _panel(name: str, figures: Sequence[Figure | None], left: float) -> Iterator[str]:
    axis = _axis([one for one in figures if one is not None], left)
    bottom = _TOP + _ROW * len(figures)
    yield _text(left + _PANEL / 2, 16, name, "middle")
    for tick in _ticks(axis):
        place = axis.place(tick)
        colour = "#333" if tick == 0 else "#ddd"
        yield _line(place, _TOP - 6, place, bottom, colour)
        yield _text(place, bottom + 16, f"{tick:g}", "middle")
    for number, figure in enumerate(figures):
        if figure is not None:
            yield from _mark(figure, axis, _middle(number))


def _mark(figure: Figure, axis: _Axis, height: float) -> Iterator[str]:
    colour = _COLOURS[figure.beyond_chance]
    if figure.low is not None and figure.high is not None:
        yield _line(
            axis.place(figure.low), height, axis.place(figure.high), height, colour, width=2
        )
    yield f'<circle cx="{axis.place(figure.value):.1f}" cy="{height:.1f}" r="4" fill="{colour}"/>'


def _axis(figures: Sequence[Figure], left: float) -> _Axis:
    """Room for all intervals, and for zero where some figures are below it."""
    ends = list(chain.from_iterable((one.low, one.value, one.high) for one in figures))
    values = [one for one in ends if one is not None]
    if min(values) < 0 or any(one.p is not None for one in figures):
        values.append(0.0)
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 1.0
    return _Axis(low - room, high + room, left)


def _ticks(axis: _Axis) -> Iterator[float]:
    """Round values, at most seven."""
    span = axis.high - axis.low
    sizes = (one * 10.0**power for power in range(-3, 5) for one in (1, 2, 5))
    size = next(one for one in sizes if span <= _MOST_TICKS * one)
    first = -(-axis.low // size)
    for number in range(_MOST_TICKS + 2):
        if (value := (first + number) * size) <= axis.high:
            yield round(value, 6) + 0.0


def _middle(number: int) -> float:
    return _TOP + _ROW * (number + 0.5)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, width: int = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )
