"""The results as Markdown tables, for the terminal and for ``layers.md``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.core.files import atomic_write
from studies.layers.growth import Growth, upper
from studies.layers.measurement import LayerCost
from studies.layers.result import Measured, Result

BEGIN = "<!-- written by studies.layers: begin -->"
END = "<!-- written by studies.layers: end -->"
_TITLE = "# Table 1, measured"
_SHOWN = 3
"""Number of path lengths in the table, from the largest down."""


def tables(result: Result) -> str:
    """All tables, each with a caption."""
    plan = result.plan
    n, d = plan.lengths[upper(plan.lengths) :], plan.widths[upper(plan.widths) :]
    parts = [
        _settings(result),
        f"One layer at n = {plan.length}, d = {plan.widths[-1]}, {plan.batch} sentences:",
        _costs(result.layers),
        f"Exponents of n from {n[0]} to {n[-1]}, at d = {plan.sizes.d_model}:",
        _exponents(result.layers, "n"),
        f"Exponents of d from {d[0]} to {d[-1]}, at n = {plan.length}:",
        _exponents(result.layers, "d"),
        "The longest chain of operations in one layer, counted at several n:",
        _dependences(result.layers, "sequential"),
        "Layers (or steps) on the longest path between two positions, counted at several n:",
        _dependences(result.layers, "path"),
        f"A layer of self-attention divided by a recurrent one, at d = {plan.sizes.d_model}:",
        _ratios(result.layers),
    ]
    return "\n\n".join(parts)


def write_page(path: Path, result: Result, picture: str) -> None:
    """Write the tables; in a page with the markers, only the text between them is replaced.

    Args:
        path: of the page.
        result: to show.
        picture: name of a file beside the page.
    """
    alternative = "Operations, memory, time and dependences of each layer type over n and d"
    block = f"{BEGIN}\n\n{tables(result)}\n\n![{alternative}]({picture})\n\n{END}"
    before, after = f"{_TITLE}\n\n", "\n"
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    if BEGIN in old and END in old:
        before, after = old[: old.index(BEGIN)], old[old.index(END) + len(END) :]
    with atomic_write(path) as stream:
        stream.write(before + block + after)


def _settings(result: Result) -> str:
    plan, sizes = result.plan, result.plan.sizes
    threads = "1 thread" if result.threads == 1 else f"{result.threads} threads"
    return (
        f"Dragoman {result.version}, PyTorch {result.torch}, {result.device}, {threads}, float32; "
        f"r = {sizes.window}, k = {sizes.kernel_width}, {sizes.heads} heads, {plan.batch} "
        f"sentences; times are medians of {plan.rounds} rounds."
    )


def _costs(layers: Sequence[Measured]) -> str:
    rows = [["layer", "ms", "forward ms", "GFLOP", "GFLOP/s", "activations MB", "peak MB"]]
    for layer in layers:
        cost = layer.over_d[-1]
        rows.append([layer.name, *_figures(cost)])
    return _table(rows)


def _figures(cost: LayerCost) -> list[str]:
    figures = (
        1e3 * cost.seconds,
        1e3 * cost.forward_seconds,
        cost.flops / 1e9,
        cost.flops / cost.seconds / 1e9,
        cost.activation_bytes / 1e6,
        cost.peak_bytes / 1e6,
    )
    return [f"{one:.3g}" if one < 1000 else f"{one:.0f}" for one in figures]


def _exponents(layers: Sequence[Measured], axis: str) -> str:
    rows = [["layer", "paper", "formula", "FLOPs", "activations", "time", "forward time"]]
    names = ("formula", "flops", "activation_bytes", "seconds", "forward_seconds")
    for layer in layers:
        found = [_exponent(layer.growth[axis][name]) for name in names]
        rows.append([layer.name, layer.complexity, *found])
    return _table(rows)


def _dependences(layers: Sequence[Measured], axis: str) -> str:
    shown = [one.n for one in layers[0].dependences[-_SHOWN:]]
    rows = [["layer", "paper", *(f"n = {n}" for n in shown), "exponent", "formula"]]
    for layer in layers:
        growth = layer.growth[axis]
        claimed = layer.sequential if axis == "sequential" else layer.path
        found = [
            str(one.chain if axis == "sequential" else one.path)
            for one in layer.dependences[-_SHOWN:]
        ]
        exponents = [_exponent(growth[name]) for name in ("counted", "formula")]
        rows.append([layer.name, claimed, *found, *exponents])
    return _table(rows)


def _ratios(layers: Sequence[Measured]) -> str:
    by_name = {layer.name: layer for layer in layers}
    upon, under = by_name["self-attention"].over_n, by_name["recurrent"].over_n
    rows = [["", *(f"n = {cost.n}" for cost in upon)]]
    for label, name in (
        ("FLOPs", "flops"),
        ("activations", "activation_bytes"),
        ("time", "seconds"),
    ):
        pairs = zip(upon, under, strict=True)
        rows.append([label, *(f"{getattr(a, name) / getattr(b, name):.2f}" for a, b in pairs)])
    return _table(rows)


def _exponent(growth: Growth) -> str:
    if growth.standard_error < 0.005:
        return f"{growth.exponent:.2f}"
    return f"{growth.exponent:.2f} ± {growth.standard_error:.2f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Markdown whose columns are aligned in a terminal as well; the first row is the heading."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]

    rule = ["-" * (width + 1) + ("-" if place == 0 else ":") for place, width in enumerate(widths)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(rows[0]), f"|{'|'.join(rule)}|", *map(line, rows[1:])])
