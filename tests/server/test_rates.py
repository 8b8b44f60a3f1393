from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.server import rates
from dragoman.server.rates import RequestRates


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@given(
    st.integers(1, 5),
    st.floats(0, 30),
    st.lists(st.floats(0, 40), min_size=1, max_size=40),
)
def test_no_window_has_more_turns_than_the_limit(
    limit: int, patience: float, pauses: list[float]
) -> None:
    clock, turns = Clock(), []
    rate = RequestRates(clock=clock)
    for pause in pauses:
        clock.now += pause
        wait = rate.take_turn("somebody", limit, patience)
        if wait <= patience:
            turns.append(clock.now + wait)
        else:
            in_window = [turn for turn in turns if turn > clock.now - 60]
            assert len(in_window) >= limit  # nobody is refused without need
    assert turns == sorted(turns)
    for first, later in zip(turns, turns[limit:], strict=False):
        assert later - first >= 60 - 1e-6


def test_a_refused_request_takes_no_turn_and_learns_when_the_next_one_is() -> None:
    clock = Clock()
    rate = RequestRates(clock=clock)
    assert rate.take_turn("one", 2, 0) == 0
    clock.now += 10
    assert rate.take_turn("one", 2, 0) == 0
    assert [rate.take_turn("one", 2, 0) for _ in range(5)] == [50] * 5
    clock.now += 50
    assert rate.take_turn("one", 2, 0) == 0


def test_clients_do_not_share_their_turns() -> None:
    rate = RequestRates(clock=Clock())
    assert [rate.take_turn(client, 1, 0) for client in ("one", "two", 3)] == [0, 0, 0]
    assert rate.take_turn("one", 1, 0) == 60


def test_a_lowered_limit_counts_the_turns_before_it() -> None:
    clock = Clock()
    rate = RequestRates(clock=clock)
    for _ in range(3):
        rate.take_turn("one", 3, 0)
        clock.now += 1
    assert rate.take_turn("one", 1, 0) == 59


def test_clients_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MAX_CLIENTS", 3)
    clock = Clock()
    rate = RequestRates(clock=clock)
    for client in range(10):
        rate.take_turn(client, 1, 0)
    assert rate.take_turn(9, 1, 0) == 60
    assert rate.take_turn(0, 1, 0) == 0  # forgotten, since there were too many
    clock.now += 61
    rate.take_turn("new", 1, 0)
    assert len(rate._turns) == 1
