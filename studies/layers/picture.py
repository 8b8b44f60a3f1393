"""The results as a picture: every quantity over n and over d, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.workflows.reports.figures import to_svg
from studies.layers.measurement import Dependence, LayerCost
from studies.layers.panels import Curve, Panel, logarithmic_panels
from studies.layers.result import Result

_COLORS = {
    "self-attention": "#2f5597",
    "restricted": "#27795c",
    "recurrent": "#c0392b",
    "convolution": "#c77f12",
    "separable convolution": "#7d5ba6",
}
_QUANTITIES: dict[str, Callable[[LayerCost], float]] = {
    "GFLOP": lambda cost: cost.flops / 1e9,
    "activations, MB": lambda cost: cost.activation_bytes / 1e6,
    "ms": lambda cost: 1e3 * cost.seconds,
}


def picture(result: Result) -> str:
    """An ``<svg>`` element."""
    plan = result.plan
    panels = [
        *(_cost_panel(result, title, "n", plan.lengths) for title in _QUANTITIES),
        _dependence_panel(result, "operations in a row", lambda one: one.chain),
        *(_cost_panel(result, title, "d", plan.widths) for title in _QUANTITIES),
        _dependence_panel(result, "longest path", lambda one: one.path),
    ]
    return to_svg(logarithmic_panels(panels, columns=4), text_as_paths=True)


def _cost_panel(result: Result, title: str, axis: str, sizes: Sequence[int]) -> Panel:
    value = _QUANTITIES[title]
    fixed = f"d = {result.plan.sizes.d_model}" if axis == "n" else f"n = {result.plan.length}"
    curves = [
        _curve(layer.name, sizes, [value(cost) for cost in getattr(layer, f"over_{axis}")])
        for layer in result.layers
    ]
    return Panel(f"{title} ({fixed})", axis, curves)


def _dependence_panel(result: Result, title: str, value: Callable[[Dependence], int]) -> Panel:
    lengths = result.plan.path_lengths
    curves = [
        _curve(layer.name, lengths, [value(one) for one in layer.dependences])
        for layer in result.layers
    ]
    return Panel(title, "n", curves)


def _curve(name: str, sizes: Sequence[int], values: Sequence[float]) -> Curve:
    kind, _, variant = name.partition(", ")
    return Curve(name, list(sizes), list(values), _COLORS[kind], dashed=bool(variant))
