"""What the parts about servers count as a failure, and the clients that misbehave."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from soak import served
from soak.fleet import _row, _together
from soak.nuisances import KINDS, nuisances
from soak.overload import _failures, _quarters
from soak.part import Tried
from soak.served import Load, Outcome


def outcome(
    *, seconds: float = 1.0, statuses: dict[int, int] | None = None, wrong: int = 0, late: int = 0
) -> Outcome:
    return Outcome(10, 5.0, [seconds] * 10, statuses or {200: 10}, wrong, late)


def test_loads_are_added_up() -> None:
    first = Outcome(3, 1.0, [0.1, 0.3], {200: 2, 503: 1}, 0, 1)
    second = Outcome(2, 3.0, [0.2, 0.4], {200: 2}, 1, 0)
    both = _together([first, second])
    assert both == Outcome(5, 4.0, [0.1, 0.2, 0.3, 0.4], {200: 4, 503: 1}, 1, 1)
    assert (both.rate, both.percentile(0.5), both.percentile(1)) == (1.0, 300.0, 400.0)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (outcome(), []),
        (outcome(statuses={200: 9, 502: 1}), ["row: statuses 200:9 502:1, and not 200 alone"]),
        (outcome(wrong=2), ["row: 2 wrong translations"]),
    ],
)
def test_no_request_to_a_fleet_may_fail(found: Outcome, said: list[str]) -> None:
    row: Tried = _row("row", found, {"kills": 3})
    assert list(row.failures) == said
    assert (row.times, row.figures["kills"]) == (10, 3)


def test_the_times_of_many_requests_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "load.py"
    program.write_text(
        "import json\n"
        "told = {'seconds': 2.0, 'latencies': [0.001] * 100_000, 'statuses': {'200': 100_000},\n"
        "        'wrong': 0, 'without_retry_after': 0}\n"
        "print(json.dumps(told))\n"
    )
    monkeypatch.setattr(served, "_LOAD", program)
    with Load(tmp_path, "http://localhost:1", ["a"], ["b"], 100_000) as load:
        end = time.monotonic() + 30
        while not load.is_over and time.monotonic() < end:
            time.sleep(0.02)
        assert load.is_over
        assert (load.outcome().rate, load.outcome().statuses) == (50_000.0, {200: 100_000})


FLAT = [100.0] * 8


@pytest.mark.parametrize(
    ("found", "memory", "said"),
    [
        (outcome(statuses={200: 5, 429: 3, 503: 2}), [100.0] * 7 + [105.0], ""),
        (outcome(statuses={200: 9, 500: 1}), FLAT, "statuses 200:9 500:1"),
        (outcome(statuses={0: 1}), FLAT, "statuses 0:1"),
        (outcome(seconds=31), FLAT, "p99 31000 ms"),
        (outcome(wrong=1), FLAT, "1 translations of other lines"),
        (outcome(late=1), FLAT, "1 refusals without Retry-After"),
        (outcome(), [100.0] * 6 + [120.0] * 2, "120 MiB at the end, from 100"),
        (outcome(), [100.0] * 8 + [120.0] * 3, "120 MiB at the end, from 100"),
    ],
)
def test_what_a_server_must_not_do_under_load(
    found: Outcome, memory: list[float], said: str
) -> None:
    failures = _failures(found, memory)
    assert len(failures) == bool(said)
    assert all(one.startswith(said) for one in failures)


def test_quarters_are_means() -> None:
    assert _quarters([1, 3, 5, 7, 9, 11, 13, 15]) == [2, 6, 10, 14]
    assert _quarters([1, 2, 3, 4, 5, 6]) == [1, 2.5, 4, 5.5], "to the end"
    assert _quarters([4.0]) == [4.0]


def test_nuisances_come_in_all_kinds_and_end() -> None:
    seen: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connection.settimeout(0.05)
            with connection:
                try:
                    seen.append(connection.recv(100))
                except OSError:
                    seen.append(b"")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with nuisances(listening.getsockname()[1], 6, seed=1) as counted:
            end = time.monotonic() + 20
            while len(counted) < len(KINDS) - 1 and time.monotonic() < end:
                time.sleep(0.02)
        begun = time.monotonic()
    assert len(counted) >= len(KINDS) - 1  # who does not read stays for long
    assert time.monotonic() - begun < 5
    assert any(one.startswith(b"POST /translate") for one in seen)
    assert any(one and not one.startswith(b"POST") for one in seen)
