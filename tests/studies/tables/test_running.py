"""Commands run one after another, and end when the time is over or a signal comes."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.training.interruption import Interruption
from studies.tables import running
from studies.tables.running import CommandRunner, FailedCommandError, StoppedError

SAVES_WHEN_TOLD = """
import signal, sys, time
def save(*_):
    open(sys.argv[1], "w").write("saved")
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(60)
"""


def runner(script: str, deadline: float | None = None) -> CommandRunner:
    """Runs a script instead of Dragoman."""
    return CommandRunner(Interruption(), deadline, program=(sys.executable, "-S", "-c", script))


def test_what_a_command_says_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "logs/one.log"
    for _ in range(2):
        runner("import sys; print(*sys.argv[1:])").run(["train", "a b"], log)
    assert log.read_text(encoding="utf-8") == "$ dragoman train 'a b'\ntrain a b\n" * 2


def test_commands_at_once_share_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "usable_cores", lambda: 7)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    one = runner("import os; print(os.environ.get('OMP_NUM_THREADS'))")
    one.run([], tmp_path / "log")
    one = replace(one, jobs=2)
    one.run([], tmp_path / "log")
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    one.run([], tmp_path / "log")
    found = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert found == ["$ dragoman", "None", "$ dragoman", "3", "$ dragoman", "5"]


def test_a_study_is_not_a_command_of_dragoman(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    runner("raise SystemExit(4)").run(["python", "-m", "this"], log)
    begin, *_, end = log.read_text(encoding="utf-8").splitlines()
    assert (begin, end) == (
        "$ python -m this",
        "Namespaces are one honking great idea -- let's do more of those!",
    )


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("print('dragoman: error: no text'); raise SystemExit(3)", "no text (log: {log})"),
        ("raise SystemExit(4)", "exit code 4 (log: {log})"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit code -9 (log: {log})"),
    ],
)
def test_a_failure_is_told_by_its_own_last_line(script: str, told: str, tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    log.write_text("an older error\n", encoding="utf-8")
    with pytest.raises(FailedCommandError) as raised:
        runner(script).run([], log)
    assert str(raised.value) == told.format(log=log)


@pytest.mark.parametrize("by_signal", [True, False])
def test_a_command_saves_before_it_is_stopped(by_signal: bool, tmp_path: Path) -> None:
    """It has begun when its log says so, which is when the clock jumps or the signal comes."""
    one, log = runner(SAVES_WHEN_TOLD, deadline=1.0), tmp_path / "one.log"

    def clock() -> float:
        ready = log.exists() and "ready" in log.read_text(encoding="utf-8")
        if ready and by_signal:
            one.interruption.signal = signal.SIGTERM
        return 2.0 * (ready and not by_signal)

    one.clock = clock
    with pytest.raises(StoppedError):
        one.run([str(tmp_path / "state")], log)
    assert (tmp_path / "state").read_text(encoding="utf-8") == "saved"


DOES_NOT_END = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if child := os.fork():
    print("ready", child, flush=True)
time.sleep(60)
"""


def test_what_does_not_end_is_killed_with_all_that_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_PATIENCE", 0.1)
    log = tmp_path / "one.log"
    one = runner(DOES_NOT_END, deadline=1.0)
    one.clock = lambda: 2.0 * (log.exists() and "ready" in log.read_text(encoding="utf-8"))
    with pytest.raises(StoppedError):
        one.run([], log)
    child = int(log.read_text(encoding="utf-8").split()[-1])
    until = time.monotonic() + 60
    with suppress(ProcessLookupError, FileNotFoundError):  # it has ended
        while Path(f"/proc/{child}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z":
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
                pytest.fail("it goes on")
            time.sleep(0.01)


def test_nothing_begins_when_the_time_is_over(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        runner("", deadline=time.monotonic()).run([], tmp_path / "one.log")
    assert not list(tmp_path.iterdir())
