from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.training.schedule import ScheduleConfig, between_points, learning_rate


@given(
    step=st.integers(1, 200_000), warmup=st.integers(1, 20_000), d_model=st.sampled_from([128, 512])
)
def test_the_default_is_equation_3(step: int, warmup: int, d_model: int) -> None:
    found = learning_rate(ScheduleConfig(warmup_steps=warmup), step, d_model, None)
    assert found == pytest.approx(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


@pytest.mark.parametrize("decay", ["linear", "cosine", "constant", "inverse_sqrt"])
def test_rises_to_its_peak_then_never_again(decay: str) -> None:
    config = ScheduleConfig(warmup_steps=10, peak_learning_rate=0.5, decay=decay)
    rates = [learning_rate(config, step, 64, 50) for step in range(1, 51)]
    assert rates[:10] == pytest.approx([0.05 * step for step in range(1, 11)])
    assert rates[9] == max(rates)
    assert rates[9:] == sorted(rates[9:], reverse=True)
    if decay in {"linear", "cosine"}:
        assert rates[-1] == pytest.approx(0, abs=1e-12)
        assert learning_rate(config, 30, 64, 50) == pytest.approx(0.25)
        quarter = 0.75 if decay == "linear" else (1 + math.cos(math.pi / 4)) / 2
        assert learning_rate(config, 20, 64, 50) == pytest.approx(0.5 * quarter)


def test_weights_lie_on_straight_lines_between_points() -> None:
    points = {3000: 0.1, 0: 1.0, 5000: 0.0}
    steps = [0, 1500, 3000, 4000, 5000, 9000]
    found = [between_points(points, step) for step in steps]
    assert found == pytest.approx([1, 0.55, 0.1, 0.05, 0, 0])
    assert between_points({10: 0.5}, 1) == between_points({10: 0.5}, 10) == 0.5


@given(points=st.dictionaries(st.integers(0, 99), st.floats(0, 9), min_size=1))
def test_a_weight_is_never_beyond_its_points(points: dict[int, float]) -> None:
    for step in range(100):
        value = between_points(points, step)
        assert min(points.values()) - 1e-9 <= value <= max(points.values()) + 1e-9
    assert all(between_points(points, step) == value for step, value in points.items())
