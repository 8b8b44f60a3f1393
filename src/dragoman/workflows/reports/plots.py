"""Pictures of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dragoman.core.errors import MissingExtraError
from dragoman.evaluation.lengths import Bucket
from dragoman.evaluation.reliability import Reliability
from dragoman.workflows.reports import plain
from dragoman.workflows.reports.training_curves import Records, dev_figures, figure_label

if TYPE_CHECKING:
    from dragoman.workflows.reports.training_curves import Axis, RunCurves

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter
except ImportError as error:
    raise MissingExtraError.of("matplotlib", "matplotlib", "jinja2") from error

_Place = Literal["outside lower center", "outside right upper"]  # of a legend
_AXES = {"step": "step", "tokens": "million target tokens", "minutes": "minutes"}
TRAINING, VALIDATION = "#8aa0c8", "#c0392b"
_COLORS = (VALIDATION, "#27795c", "#7d5ba6", "#b8860b", "#1f77b4", "#7f7f7f", "#e377c2", "#17becf")


def learning_curves(records: Records) -> Figure:
    """Loss, dev scores, learning rate and speed over the steps, and expert usage if any."""
    experts = any("most_used_expert" in record for record in records)
    figure = Figure(figsize=(9, 7.8 if experts else 5.2), layout="constrained")
    (loss, scores), (rate, speed), *more = figure.subplots(3 if experts else 2, 2)
    draw_loss(loss, records)
    draw_scores(scores, records)
    _line(rate, records, ("training", "learning_rate"), TRAINING)
    rate.yaxis.set_major_formatter("{x:g}")
    finish(rate, "Learning rate")
    _line(speed, records, ("training", "tokens_per_second"), TRAINING)
    speed.set_ylim(bottom=0)
    finish(speed, "Target tokens per second")
    for shares, variation in more:
        draw_experts(shares, variation, records)
    return figure


def draw_experts(shares: Axes, variation: Axes, records: Records) -> None:
    """Draw the load balance among the experts of a mixture, in its least even layer."""
    for name, label in (("most_used_expert", "most"), ("least_used_expert", "least")):
        color = VALIDATION if label == "most" else TRAINING
        _line(shares, records, ("training", name), color, label=f"{label} used expert")
    shares.set_ylim(bottom=0)
    finish(shares, "Share of positions")
    for name, color in (("load", TRAINING), ("importance", VALIDATION)):
        series = ("training", f"expert_{name}_variation")
        _line(variation, records, series, color, label=name)
    variation.set_ylim(bottom=0)
    finish(variation, "Experts: deviation over mean")


def demo_picture(records: Records) -> Figure:
    """Loss and dev scores side by side: how a model learns, at a glance."""
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    loss, scores = figure.subplots(1, 2)
    draw_loss(loss, records)
    draw_scores(scores, records)
    return figure


def draw_loss(axes: Axes, records: Records) -> None:
    """Negative log-likelihood per token, of training and dev set; logarithmic."""
    _line(axes, records, ("training", "nll"), TRAINING, label="training")
    _line(axes, records, ("validation", "loss"), VALIDATION, label="dev", marker="o")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(_PlainTicks(minor_thresholds=(2, 0.5)))
    finish(axes, "Loss (nats per token)")


def draw_scores(axes: Axes, records: Records) -> None:
    """Every metric that the run recorded on the dev set."""
    recorded = [name for name in dev_figures() if any(name in record for record in records)]
    for metric, color in zip(recorded, cycle(_COLORS), strict=False):
        _line(axes, records, ("validation", metric), color, label=figure_label(metric), marker="o")
    axes.set_ylim(bottom=0)
    finish(axes, "Dev set")


def several_curves(curves: Sequence[RunCurves], axis: Axis) -> Figure:
    """Losses, dev scores and speeds of several runs, a colour for each."""
    metrics = [metric for metric in dev_figures() if any(metric in run.metrics for run in curves)]
    panels = [("training", "nll", "Training loss (nats per token)"), ("validation", "loss", "Dev")]
    panels += [("validation", metric, f"Dev: {figure_label(metric)}") for metric in metrics]
    panels += [("training", "tokens_per_second", "Target tokens per second")]
    lines = -(-len(panels) // 2)
    figure = Figure(figsize=(9, 2.6 * lines + 0.4), layout="constrained")
    grid = list(figure.subplots(lines, 2, squeeze=False).flat)
    for axes, (kind, name, title) in zip(grid, panels, strict=False):
        for number, run in enumerate(curves):
            points = run.points(kind, name, axis)
            axes.plot(
                [place for place, _ in points],
                [value for _, value in points],
                color=f"C{number % 10}",
                linestyle="-" if number < 10 else "--",
                marker="o" if kind == "validation" else "",
                markersize=3,
                linewidth=1.4,
                label=str(number),
            )
        if name in ("nll", "loss"):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(_PlainTicks(minor_thresholds=(2, 0.5)))
        else:
            axes.set_ylim(bottom=0)
        full = f"{title} loss (nats per token)" if name == "loss" else title
        finish(axes, full, x_label=_AXES[axis], legend=False)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    _add_legend(figure, grid[0], [run.name for run in curves], "outside lower center", columns=3)
    return figure


def comparison_picture(comparison: Mapping[str, Any]) -> Figure:
    """Scores with their intervals beside the speeds, a line per system.

    Args:
        found: the content of ``comparison.json``.
    """
    rows = comparison["rows"][::-1]  # the first on top
    places = range(len(rows))
    figure = Figure(figsize=(9, 1.2 + 0.36 * len(rows)), layout="constrained")
    score, training, translating = figure.subplots(1, 3, sharey=True, width_ratios=[2, 1, 1])
    scores = [row["scores"][0] for row in rows]
    draw_intervals(
        score,
        [value["value"] for value in scores],
        [value.get("confidence", {}).get("margin", 0.0) for value in scores],
    )
    score.set_yticks(places, [plain(row["name"]) for row in rows], fontsize=8)
    _frame(score, plain(f"{scores[0]['name']} on {comparison['test']}, 95 % interval"))
    speeds = [row["speed"] for row in rows]
    training.barh(places, [s["tokens_per_second"] or 0 for s in speeds], color=TRAINING)
    _frame(training, "Training tokens/s")
    translating.barh(places, [s["sentences_per_second"] for s in speeds], color=TRAINING)
    _frame(translating, "Sentences/s")
    return figure


def draw_intervals(axes: Axes, values: Sequence[float], margins: Sequence[float]) -> None:
    """Values with their margins, one above the other, on an axis that suits most of them.

    An outlier, such as a system that learned nothing, is drawn as an arrow at the edge with its
    figures beside it: an axis that included it would make the others look alike.
    """
    low, high = axis_of_most(values, margins)
    places = [place for place, value in enumerate(values) if low <= value <= high]
    axes.errorbar(
        [values[place] for place in places],
        places,
        xerr=[margins[place] for place in places],
        fmt="o",
        color=VALIDATION,
        ecolor=TRAINING,
        capsize=3,
        markersize=5,
    )
    room = 0.05 * (high - low) or 1.0
    axes.set_xlim(low - room, high + room)
    axes.set_ylim(-0.5, len(values) - 0.5)
    for place in sorted({*range(len(values))} - {*places}):
        below = values[place] < low
        axes.annotate(
            f"{values[place]:.2f} ± {margins[place]:.2f}",
            xy=(low - room if below else high + room, place),
            xytext=(26 if below else -26, 0),
            textcoords="offset points",
            arrowprops={"arrowstyle": "->", "color": VALIDATION},
            ha="left" if below else "right",
            va="center",
            fontsize=8,
        )


def axis_of_most(values: Sequence[float], margins: Sequence[float]) -> tuple[float, float]:
    """The limits of an axis that excludes values far below or above the others.

    Far means further than the others are apart, margins included.  Fewer than half of all values
    are excluded.
    """
    ranges = sorted((value - m, value + m) for value, m in zip(values, margins, strict=True))
    shown = ranges
    for number in range(1, len(ranges)):
        below, above = ranges[:number], ranges[number:]
        kept, others = (above, below) if len(below) < len(above) else (below, above)
        gap = above[0][0] - _top(below)
        if len(others) < len(kept) and gap > _top(kept) - kept[0][0]:
            shown = [interval for interval in shown if interval in kept]
    return shown[0][0], _top(shown)


def _top(ranges: Sequence[tuple[float, float]]) -> float:
    return max(high for _, high in ranges)


def length_picture(buckets: Sequence[Bucket], unit: str) -> Figure:
    """Scores over the length of the source, a line per system, with intervals if available."""
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.subplots()
    names = list(buckets[0].scores)
    every = (score for bucket in buckets for score in bucket.scores.values())
    has_intervals = any(score.confidence for score in every)
    for number, name in enumerate(names):
        scores = [bucket.scores[name] for bucket in buckets]
        aside = 0.05 * (number - (len(names) - 1) / 2)  # so that intervals do not cover each other
        # A score of 0 has no interval.
        margins = [score.confidence.margin if score.confidence else 0.0 for score in scores]
        axes.errorbar(
            [place + aside for place in range(len(buckets))],
            [score.value for score in scores],
            yerr=margins if has_intervals else None,
            fmt="o",
            color=f"C{number}",  # cycles through matplotlib's ten
            linestyle="-" if number < 10 else "--",
            label=str(number),
            capsize=2,
            markersize=4,
            linewidth=1.4,
            elinewidth=0.8,
        )
    labels = [f"{bucket}\n{bucket.sentences:,} sentences" for bucket in buckets]
    axes.set_xticks(range(len(buckets)), labels)
    interval = ", 95% intervals" if has_intervals else ""
    finish(axes, f"{scores[0].name}{interval}", x_label=f"{unit} in the source", legend=False)
    _add_legend(figure, axes, names, "outside right upper")
    return figure


def reliability_diagram(reliability: Reliability, title: str) -> Figure:
    """The share of right lines over their confidence, bin by bin, above the number of lines.

    Exactly calibrated confidences are on the diagonal.
    """
    figure = Figure(figsize=(4.2, 4.8), layout="constrained")
    shares, counts = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    shares.plot([0, 1], [0, 1], color=TRAINING, linewidth=1, linestyle="--", label="calibrated")
    seen = [(bucket, bucket.right, bucket.interval) for bucket in reliability.bins if bucket.lines]
    places = [bucket.confidence for bucket, _, _ in seen]
    right = [share or 0.0 for _, share, _ in seen]
    bounds = [interval or (0.0, 1.0) for _, _, interval in seen]
    # The interval of a share of 0 or 1 begins or ends there, up to rounding.
    below = [max(0.0, share - low) for share, (low, _) in zip(right, bounds, strict=True)]
    above = [max(0.0, high - share) for share, (_, high) in zip(right, bounds, strict=True)]
    shares.errorbar(
        places,
        right,
        yerr=[below, above],
        fmt="o-",
        color=VALIDATION,
        ecolor=VALIDATION,
        capsize=2,
        markersize=4,
        linewidth=1.4,
        elinewidth=0.8,
        label="right, 95 %",
    )
    shares.set_ylim(0, 1)
    finish(shares, title, x_label="")
    width = reliability.bins[0].upper - reliability.bins[0].lower
    middles = [(bucket.lower + bucket.upper) / 2 for bucket in reliability.bins]
    counts.bar(
        middles, [bucket.lines for bucket in reliability.bins], width=0.9 * width, color=TRAINING
    )
    counts.set_xlim(0, 1)
    finish(counts, "Lines", x_label="confidence", legend=False)
    return figure


class _PlainTicks(LogFormatter):
    """Labels at matplotlib's positions, as 0.2 rather than 2e-01."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def _line(
    axes: Axes,
    records: Records,
    series: tuple[str, str],
    color: str,
    *,
    label: str | None = None,
    marker: str = "",
) -> None:
    """Draw a figure over the steps; ``series`` is the kind of record and the figure's name."""
    kind, name = series
    points = [(r["step"], r[name]) for r in records if r.get("kind") == kind and name in r]
    axes.plot(
        [step for step, _ in points],
        [value for _, value in points],
        color=color,
        label=label,
        marker=marker,
        markersize=3,
        linewidth=1.5,
    )


def _add_legend(
    figure: Figure, axes: Axes, names: Sequence[str], place: _Place, *, columns: int = 1
) -> None:
    """Name the curves of a panel, which are labelled by their numbers, beside all panels.

    matplotlib leaves out curves whose own label begins with "_", as the name of a run may.
    """
    handles, numbers = axes.get_legend_handles_labels()
    legend = figure.legend(handles, numbers, loc=place, ncols=columns, fontsize=8, frameon=False)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(plain(name))


def finish(axes: Axes, title: str, x_label: str = "step", *, legend: bool = True) -> None:
    """Add title, label, grid and legend to a panel whose curves are drawn."""
    _frame(axes, title)
    axes.set_xlabel(x_label, fontsize=8)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False)


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.tick_params(which="both", labelsize=8)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def draw_curves(curves: Sequence[RunCurves], path: Path, axis: Axis = "step") -> None:
    """Draw the curves of all runs into one picture, in the format of the suffix of ``path``."""
    from dragoman.workflows.reports.figures import write_picture

    write_picture(several_curves(curves, axis), path, text_as_paths=True)
