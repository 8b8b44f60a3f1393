from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.lengths import Bucket
from dragoman.evaluation.metrics import Score
from dragoman.evaluation.reliability import reliability
from dragoman.workflows.reports.figures import to_png, to_svg
from dragoman.workflows.reports.plots import (
    axis_of_most,
    comparison_picture,
    learning_curves,
    length_picture,
    reliability_diagram,
    several_curves,
)
from dragoman.workflows.reports.training_curves import RunCurves, dev_figures, figure_label


def row(name: str, value: float, margin: float) -> dict[str, object]:
    score = {"name": "BLEU", "value": value, "confidence": {"margin": margin}}
    speed = {"tokens_per_second": None, "sentences_per_second": 100.0}
    return {"name": name, "scores": [score], "speed": speed}


@pytest.mark.parametrize(
    ("values", "axis"),
    [
        ([35, 34, 33, 8, 11], (32, 36)),  # two that learned nothing
        ([35, 34, 33, 30], (29, 36)),  # worse, but the others are as far apart
        ([35, 34, 33, 95], (32, 36)),  # as TER has it
        ([35, 8], (7, 36)),  # none of two is the odd one
        ([35, 34, 9, 8], (7, 36)),
        ([35], (34, 36)),
    ],
)
def test_what_lies_far_away_does_not_decide_the_axis(
    values: list[float], axis: tuple[float, float]
) -> None:
    assert axis_of_most(values, [1.0] * len(values)) == axis


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 5)), min_size=1, max_size=12))
def test_most_are_on_the_axis(rows: list[tuple[float, float]]) -> None:
    values, margins = zip(*rows, strict=True)
    low, high = axis_of_most(values, margins)
    inside = [low <= value <= high for value in values]
    assert 2 * sum(inside) > len(inside)
    for value, margin, shown in zip(values, margins, inside, strict=True):
        assert not shown or (low <= value - margin and value + margin <= high)


def test_what_is_left_out_is_written() -> None:
    rows = [row("a", 35, 1.5), row("b", 34, 1.5), row("c", 8.54, 0.76), row("d", 33, 1.5)]
    picture = to_svg(comparison_picture({"test": "news", "rows": rows}))
    assert picture.count(" ± ") == 1
    assert "8.54 ± 0.76" in picture
    assert "±" not in to_svg(comparison_picture({"test": "news", "rows": rows[:2]}))
    assert "<svg" in to_svg(comparison_picture({"test": "news", "rows": [row("a", 35, 0.0)]}))


def test_however_many_metrics_a_run_records_each_has_a_curve() -> None:
    figures = dict.fromkeys(dev_figures(), 50.0)
    records = [
        {"kind": "training", "step": 1, "nll": 2.0, "learning_rate": 0.1, "tokens_per_second": 9.0},
        {"kind": "validation", "step": 1, "loss": 2.0, **figures},
    ]
    picture = to_svg(learning_curves(records))
    assert all(f">{name}<" in picture for name in map(figure_label, dev_figures()))


NAMES = [
    "_old",
    "a$x$",
    "a$\\frac$",
    "<b>&",
    "a--b",
    "\x1bred",
    "no\udcff",
    "\ufffe",
    "übung",
    "a b",
]
"""Names that a directory may have, and what matplotlib or XML would rather not."""
SHOWN = [*NAMES[:5], "\ufffdred", "no\ufffd", "\ufffd", *NAMES[8:]]


def texts(picture: str) -> list[str]:
    """All texts of an SVG, which is well formed."""
    found = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(one.itertext()) for one in found]


def test_every_name_of_a_run_is_in_the_picture_as_it_is() -> None:
    records = [
        {"kind": "training", "step": 1, "nll": 2.0, "tokens_per_second": 9.0},
        {"kind": "validation", "step": 1, "loss": 2.0, "bleu": 1.0},
    ]
    figure = several_curves([RunCurves(name, records) for name in NAMES], "step")
    assert set(SHOWN) <= set(texts(to_svg(figure)))
    ElementTree.fromstring(to_svg(figure, text_as_paths=True))
    assert to_png(figure).startswith(b"\x89PNG")


def test_every_name_of_a_system_is_in_the_picture_as_it_is() -> None:
    scores = {name: Score("BLEU", 30.0, "") for name in NAMES}
    figure = length_picture([Bucket(1, 5, 7, scores), Bucket(6, 9, 7, scores)], "words")
    assert set(SHOWN) <= set(texts(to_svg(figure)))
    rows = [row(name, 30, 1.0) for name in NAMES]
    found = texts(to_svg(comparison_picture({"test": "te$t$\x00", "rows": rows})))
    assert set(SHOWN) <= set(found)
    assert "BLEU on te$t$\ufffd, 95 % interval" in found


def test_the_reliability_diagram_has_a_point_for_each_bin_with_lines() -> None:
    found = reliability([0.05, 0.05, 0.95, 1.0], [False, False, True, False], samples=2)
    figure = reliability_diagram(found, "chrF above 60, news")
    shares: Any
    counts: Any
    shares, counts = figure.axes
    points = shares.containers[0].lines[0]
    assert points.get_xdata().tolist() == pytest.approx([0.05, 0.975])
    assert points.get_ydata().tolist() == pytest.approx([0.0, 0.5])
    assert [bar.get_height() for bar in counts.patches] == [2, *[0] * 8, 2]
    picture = to_svg(figure)
    assert picture == to_svg(reliability_diagram(found, "chrF above 60, news"))
    assert "chrF above 60, news" in picture
