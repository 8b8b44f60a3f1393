"""Pictures of attention: shades for one head or many, and lines between words."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import MissingExtraError

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError.of("matplotlib", "matplotlib", "jinja2") from error

Rows = Sequence[tuple[str, Sequence[float]]]
"""An attending piece, and its weight on each attended piece."""

_MOST_CELLS = 4000  # each would be a shape in an SVG
_COLUMNS = 4  # of small pictures
_FAINTEST = 0.05  # weights below are not drawn as lines
_LINE_HEIGHT = 0.24  # inches


def attention_picture(source: Sequence[str], rows: Rows, title: str) -> Figure:
    """Weights as shades: a row per target piece, a column per source piece."""
    cell = min(0.34, 40 / max(len(source), len(rows)))  # inches
    size = max(5.0, 1.4 + cell * len(source)), 1.3 + cell * len(rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    _draw_shades(axes, source, rows, min(8.0, 50 * cell))
    axes.set_title(title, loc="left", fontsize=9)
    return figure


def heads_picture(source: Sequence[str], maps: Sequence[tuple[str, Rows]], title: str) -> Figure:
    """Many heads side by side, as shades."""
    columns = min(_COLUMNS, len(maps))
    lines = -(-len(maps) // columns)
    cell = min(0.2, 12 / max(len(source), len(maps[0][1])))  # inches
    wide, high = max(1.8, 0.7 + cell * len(source)), 1.0 + cell * len(maps[0][1])
    figure = Figure(figsize=(columns * wide, lines * high + 0.3), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False).flat
    for axes, (name, rows) in zip(grid, maps, strict=False):
        _draw_shades(axes, source, rows, min(6.0, 42 * cell))
        axes.set_title(name, loc="left", fontsize=7)
    for axes in list(grid)[len(maps) :]:
        axes.set_visible(False)
    figure.suptitle(title, fontsize=9, x=0.01, ha="left")
    return figure


def lines_picture(source: Sequence[str], maps: Sequence[tuple[str, Rows]], title: str) -> Figure:
    """Lines from each piece to those that it attends to, as in the appendix of Vaswani et al. 2017.

    The darker a line, the higher the weight; each head has a colour.

    Args:
        source: the attended pieces, on the right.
        maps: the name of each head and its weights; the attending pieces are on the left.
    """
    looking = [piece for piece, _ in maps[0][1]]
    longest = max(len(looking), len(source))
    figure = Figure(figsize=(4.6, 0.9 + _LINE_HEIGHT * longest), layout="constrained")
    axes = figure.subplots()
    for number, (name, rows) in enumerate(maps):
        color = f"C{number % 10}"
        axes.plot([], [], color=color, label=name)
        for begin, (_, weights) in enumerate(rows):
            for end, weight in enumerate(weights):
                if weight >= _FAINTEST:
                    axes.plot(
                        [0, 1], [begin, end], color=color, alpha=min(1.0, weight), linewidth=1.6
                    )
    for x, pieces, side in ((-0.02, looking, "right"), (1.02, source, "left")):
        for place, piece in enumerate(pieces):
            axes.text(x, place, piece, ha=side, va="center", fontsize=8, parse_math=False)
    axes.set_xlim(-0.6, 1.6)
    axes.set_ylim(longest - 0.5, -0.5)
    axes.set_axis_off()
    axes.set_title(title, loc="left", fontsize=9)
    if len(maps) > 1:
        figure.legend(loc="outside lower center", ncols=2, fontsize=7, frameon=False)
    return figure


def _draw_shades(axes: Axes, source: Sequence[str], rows: Rows, size: float) -> None:
    """A row per attending piece, a column per attended piece."""
    many = len(source) * len(rows) > _MOST_CELLS
    axes.pcolormesh([weights for _, weights in rows], cmap="Reds", vmin=0, vmax=1, rasterized=many)
    for axis, pieces in ((axes.xaxis, source), (axes.yaxis, [piece for piece, _ in rows])):
        axis.set_ticks([place + 0.5 for place in range(len(pieces))], pieces, fontsize=size)
        for label in axis.get_ticklabels():
            label.set_parse_math(False)  # a piece may have dollar signs
    axes.tick_params(axis="x", rotation=90)
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
