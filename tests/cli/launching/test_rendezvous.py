"""Whether processes start again is decided before they meet again."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.cli.launching.rendezvous import (
    History,
    Rendezvous,
    RendezvousOverError,
    RendezvousTerms,
)
from dragoman.cli.launching.worker_failures import Failures

KILLED = Failures((), {0: -9})
BAD_TEXT = Failures([{"message": "bad", "exit_code": 3, "echo": False}], {0: 3})
STOPPED = Failures([{"message": "stopped", "exit_code": 143, "echo": False}], {0: 143})


def met(restarts: int) -> tuple[Rendezvous, History, list[str]]:
    said: list[str] = []
    history = History(begun=True)
    rendezvous = Rendezvous(
        RendezvousTerms(restarts=restarts), "train", history, said.append, lambda: None
    )
    inner: Any = type("Inner", (), {"set_closed": lambda self: None})()
    rendezvous._inner = inner
    return rendezvous, history, said


def test_killed_processes_start_again_as_often_as_allowed() -> None:
    rendezvous, history, said = met(2)
    history.last = KILLED
    rendezvous._check_whether_to_go_on()
    rendezvous._check_whether_to_go_on()
    assert [line.rpartition("(")[2] for line in said] == ["restart 1 of 2)", "restart 2 of 2)"]
    with pytest.raises(RendezvousOverError):
        rendezvous._check_whether_to_go_on()


@pytest.mark.parametrize(("restarts", "last"), [(0, KILLED), (5, BAD_TEXT)])
def test_what_is_not_tried_again(restarts: int, last: Failures) -> None:
    rendezvous, history, said = met(restarts)
    history.last = last
    with pytest.raises(RendezvousOverError):
        rendezvous._check_whether_to_go_on()
    assert not said


def test_a_pause_costs_no_restart_and_a_signal_of_the_user_ends_all() -> None:
    rendezvous, history, _ = met(1)
    history.last = STOPPED
    rendezvous._check_whether_to_go_on()
    assert history.failures == 0
    rendezvous.stop(15)
    with pytest.raises(RendezvousOverError):
        rendezvous._check_whether_to_go_on()
