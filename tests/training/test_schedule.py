from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.training.schedule import (
    EarlierEnd,
    ScheduleConfig,
    between_points,
    end_in_time,
    learning_rate,
)


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


@pytest.mark.parametrize("decay", ["linear", "cosine"])
def test_the_rate_is_held_before_it_decays(decay: Any) -> None:
    """Of 80 steps behind the warm-up, 60 at the peak and 20 like a decay of 20 steps."""
    held = ScheduleConfig(warmup_steps=20, peak_learning_rate=0.5, decay=decay, hold=0.75)
    rates = [learning_rate(held, step, 64, 100) for step in range(20, 101)]
    assert rates[:61] == [0.5] * 61
    short = ScheduleConfig(warmup_steps=20, peak_learning_rate=0.5, decay=decay)
    assert rates[60:] == pytest.approx([learning_rate(short, at, 64, 40) for at in range(20, 41)])


def test_only_a_decay_to_zero_can_wait() -> None:
    with pytest.raises(ValueError, match="hold needs decay: linear or cosine, not constant"):
        ScheduleConfig(decay="constant", hold=0.5)


def test_a_held_rate_decays_in_time() -> None:
    """At 2 seconds a step 60 steps fit: what is left of hold and decay shrinks alike."""
    held = ScheduleConfig(warmup_steps=20, peak_learning_rate=1.0, decay="linear", hold=0.5)
    end = end_in_time(held, end=None, **SLOW)
    assert end is not None and end.last == 60
    rates = [learning_rate(held, step, 64, 100, end) for step in range(40, 61)]
    # 25 % of the plan was done after 40 steps, the hold ends at 50 %.
    done = [0.25 + 0.75 * at / 20 for at in range(21)]
    assert rates == pytest.approx([min(1.0, 2 * (1 - share)) for share in done])


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


SLOW: dict[str, Any] = {"step": 40, "seconds": 80.0, "max_steps": 100, "max_minutes": 2.0}
LINEAR = ScheduleConfig(warmup_steps=20, peak_learning_rate=1.0, decay="linear")


def test_a_decay_that_time_is_too_short_for_goes_on_faster_to_an_earlier_zero() -> None:
    """At 2 seconds a step, 2 minutes are enough for 60 steps."""
    end = end_in_time(LINEAR, end=None, **SLOW)
    assert end == EarlierEnd(40, decayed=0.25, last=60, max_steps=100, max_minutes=2.0)
    rates = [learning_rate(LINEAR, step, 64, 100, end) for step in range(1, 61)]
    assert rates[:40] == [learning_rate(LINEAR, step, 64, 100) for step in range(1, 41)]
    assert rates[40:] == pytest.approx([0.75 * (60 - step) / 20 for step in range(41, 61)])
    assert "2 minutes are enough for 60 steps" in end.story


def test_an_end_is_decided_again_when_the_speed_changes() -> None:
    first = end_in_time(LINEAR, end=None, **SLOW)
    assert first is not None
    faster = end_in_time(LINEAR, end=first, **{**SLOW, "step": 50, "seconds": 85.0})
    assert faster is not None and faster.last == 70
    assert faster.decayed == pytest.approx(0.25 + 0.75 / 2)
    joined = [learning_rate(LINEAR, 50, 64, 100, end) for end in (first, faster)]
    assert joined[0] == pytest.approx(joined[1]) == pytest.approx(0.375)
    assert end_in_time(LINEAR, end=first, **{**SLOW, "step": 50, "seconds": 101.0}) == first


@pytest.mark.parametrize(
    ("schedule", "changes"),
    [
        (LINEAR, {"seconds": 47.0}),  # fast enough
        (LINEAR, {"step": 20}),  # the warm-up
        (LINEAR, {"max_minutes": None}),
        (ScheduleConfig(warmup_steps=20), {}),  # has no end
    ],
)
def test_no_end_is_decided_without_need(schedule: ScheduleConfig, changes: dict[str, Any]) -> None:
    assert end_in_time(schedule, end=None, **{**SLOW, **changes}) is None


@given(
    seconds=st.floats(0.01, 1000),
    step=st.integers(1, 99),
    decay=st.sampled_from(["linear", "cosine"]),
    hold=st.floats(0, 0.99),
)
def test_the_rate_never_rises_after_the_warm_up_and_ends_at_zero(
    seconds: float, step: int, decay: Any, hold: float
) -> None:
    schedule = ScheduleConfig(warmup_steps=20, peak_learning_rate=1.0, decay=decay, hold=hold)
    end = end_in_time(schedule, end=None, **{**SLOW, "step": step, "seconds": seconds})
    last = 100 if end is None else end.last
    assert step < last <= 100
    rates = [learning_rate(schedule, at, 64, 100, end) for at in range(20, last + 1)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(0, abs=1e-12)
