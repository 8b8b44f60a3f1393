"""A machine that is silent is lost, on the clock of whoever listens."""

from __future__ import annotations

import time

import pytest
from torch.distributed import HashStore  # type: ignore[attr-defined]

from dragoman.cli.launching.heartbeats import Heartbeats, MachineRound


def test_who_is_silent_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    store = HashStore()
    machines = [Heartbeats(lambda: store, 8.0) for _ in range(3)]
    for rank, one in enumerate(machines):
        one.begin(MachineRound("r", rank, 3))
    for second in range(1, 10):
        now = 100.0 + second
        for one in machines[:2]:
            one.beat(store)
        assert machines[0].lost() == ([2] if second > 8 else [])
    assert machines[1].lost() == [2]
    assert machines[2].lost() == [0, 1], "which has not listened either"


def test_without_answers_a_machine_is_cut_off_before_it_is_lost() -> None:
    def gone() -> HashStore:
        raise RuntimeError("no route")

    alone = Heartbeats(gone, 8.0)
    assert not alone.cut_off, "it has never been there"
    alone._answered = time.monotonic() - 3.9
    assert not alone.cut_off
    alone._answered = time.monotonic() - 4.1
    assert alone.cut_off


def test_all_hear_why_nobody_goes_on() -> None:
    store = HashStore()
    first, second = (Heartbeats(lambda: store, 8.0) for _ in range(2))
    for rank, one in enumerate((first, second)):
        one.begin(MachineRound("r", rank, 2))
    first.end_for_all("bad text")
    first.beat(store)
    second.end_for_all("a consequence")
    second.beat(store)
    first.beat(store)
    assert first.ended == second.ended == "bad text"
    started = time.monotonic()
    first.stop()
    assert time.monotonic() - started < 1, "the other one knows"
