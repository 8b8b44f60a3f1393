"""Machines made of network namespaces are gone when the soak is, and fit into its time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from soak.elastic import KILLS, Pace
from soak.machines import missing


def namespaces(prefix: str) -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if line.startswith(prefix)]


def test_a_soak_that_is_stopped_leaves_no_machine(tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    command = [sys.executable, "-m", "soak", "--only", "elastic", "--output", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    prefix = f"dgm{process.pid}-"
    while not any(name.startswith(f"{prefix}2") for name in namespaces(prefix)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert not namespaces(prefix)


def test_there_are_as_many_kills_as_leave_time_for_the_rest() -> None:
    pace = Pace(begin=10, rest=20)
    others = 2 * pace.seconds(2)
    found = [pace.kills(others + left) for left in (-1000, 29, 48, 66, 10_000)]
    assert found == [0, 0, 1, 2, KILLS]
