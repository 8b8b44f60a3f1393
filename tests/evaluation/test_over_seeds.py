"""Means over seeds, and the paired t-test against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.evaluation.over_seeds import paired_difference, spread


def t_density(t: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    factor = scale / math.sqrt(freedom * math.pi)
    return factor * (1 + t**2 / freedom) ** (-(freedom + 1) / 2)


@given(
    pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(20, 40)), min_size=2, max_size=9),
)
def test_p_is_the_area_outside_of_t(pairs: list[tuple[float, float]]) -> None:
    gains, baseline = [one for one, _ in pairs], [one for _, one in pairs]
    scores = [gain + base for gain, base in pairs]
    differences = [own - base for own, base in zip(scores, baseline, strict=True)]
    error = float(np.std(differences, ddof=1)) / math.sqrt(len(pairs))
    found = paired_difference(scores, baseline)
    assert found.mean == pytest.approx(np.mean(gains), abs=1e-9)
    if error < 1e-3:
        return
    t = found.mean / error
    grid = np.linspace(-t, t, 20_001)
    inside = np.trapezoid(t_density(grid, len(pairs) - 1), grid)
    assert found.p_value == pytest.approx(1 - inside, abs=2e-4)
    if abs(found.p_value - 0.05) > 1e-6:
        assert (found.p_value < 0.05) == (found.margin < found.mean)


@pytest.mark.parametrize(
    ("seeds", "t"), [(2, 12.706), (3, 4.303), (4, 3.182), (5, 2.776), (11, 2.228)]
)
def test_intervals_are_those_of_the_tables_of_t(seeds: int, t: float) -> None:
    scores = [float(seed % 3) for seed in range(seeds)]
    found = paired_difference(scores, [0.0] * seeds)
    assert found.margin == pytest.approx(t * spread(scores) / math.sqrt(seeds), rel=1e-3)


def test_equal_differences() -> None:
    same = paired_difference([1.0, 2.0], [1.0, 2.0])
    assert (same.mean, same.margin, same.p_value) == (0, 0, 1)
    assert paired_difference([2.0, 3.0], [1.0, 2.0]).p_value == 0
