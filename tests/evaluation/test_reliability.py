from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.evaluation.reliability import reliability

lines = st.lists(
    st.tuples(st.floats(0, 1) | st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]), st.booleans()),
    min_size=1,
    max_size=40,
)


@settings(max_examples=15)
@given(lines)
def test_figures_are_those_of_their_definitions(given_lines: list[tuple[float, bool]]) -> None:
    """Line by line, without arrays."""
    confidences, right = [p for p, _ in given_lines], [y for _, y in given_lines]
    found = reliability(confidences, right, samples=2)
    bins: dict[int, list[tuple[float, bool]]] = {}
    for p, y in given_lines:
        bins.setdefault(min(math.floor(p * 10), 9), []).append((p, y))
    error = math.fsum(
        len(inside)
        / len(given_lines)
        * abs(sum(p for p, _ in inside) / len(inside) - sum(y for _, y in inside) / len(inside))
        for inside in bins.values()
    )
    assert found.calibration_error == pytest.approx(error, abs=1e-12)
    brier = sum((p - y) ** 2 for p, y in given_lines) / len(given_lines)
    assert found.brier == pytest.approx(brier, abs=1e-12)
    pairs = [
        1.0 if high > low else 0.5 if high == low else 0.0
        for high, is_right in given_lines
        for low, other in given_lines
        if is_right and not other
    ]
    if pairs:
        assert found.auc == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    else:
        assert found.auc is None
        assert found.auc_interval is None
    assert [one.lines for one in found.bins] == [len(bins.get(k, [])) for k in range(10)]
    for place, inside in bins.items():
        share = sum(y for _, y in inside) / len(inside)
        assert found.bins[place].right == pytest.approx(share)
        interval = found.bins[place].interval
        assert interval is not None
        assert 0 <= interval[0] <= share + 1e-12
        assert share - 1e-12 <= interval[1] <= 1


def test_the_interval_of_a_share_is_wilsons() -> None:
    """0 and 5 of 10, as published tables have them."""
    none = reliability([0.55] * 10, [False] * 10, samples=2).bins[5].interval
    half = reliability([0.55] * 10, [True, False] * 5, samples=2).bins[5].interval
    assert none == pytest.approx((0.0, 0.2775), abs=5e-5)
    assert half == pytest.approx((0.2366, 0.7634), abs=5e-5)


def test_what_is_calibrated_has_no_more_error_than_chance() -> None:
    rng = np.random.default_rng(5)
    confidences = rng.random(2000)
    exact = reliability(confidences.tolist(), (rng.random(2000) < confidences).tolist(), samples=60)
    assert exact.calibration_error < 1.7 * exact.error_by_chance
    assert exact.calibration_error_interval[0] < 2 * exact.error_by_chance
    bold = reliability(
        confidences.tolist(), (rng.random(2000) < confidences**3).tolist(), samples=60
    )
    assert bold.calibration_error > 5 * bold.error_by_chance
    low, high = bold.calibration_error_interval
    assert low < bold.calibration_error < high
    assert low > 2 * bold.error_by_chance
    assert bold.auc is not None
    assert bold.auc_interval is not None
    assert bold.auc_interval[0] < bold.auc < bold.auc_interval[1]


def test_the_same_lines_give_the_same_figures() -> None:
    given_lines = [0.1, 0.4, 0.8] * 20, [False, False, True] * 20
    assert reliability(*given_lines, samples=9) == reliability(*given_lines, samples=9)


@pytest.mark.parametrize(
    ("confidences", "right", "message"),
    [([], [], "no lines"), ([0.5], [True, False], "1 confidences, but 2 outcomes")],
)
def test_nothing_to_measure(confidences: list[float], right: list[bool], message: str) -> None:
    with pytest.raises(DataError, match=message):
        reliability(confidences, right)
