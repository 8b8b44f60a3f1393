from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from worker_tasks import (
    begin,
    die,
    die_while_sending,
    fail,
    refuse,
    slowly,
    then_die_while_sending,
    times,
)

from dragoman.core import processes
from dragoman.core.errors import SavedError, WorkerError
from dragoman.core.processes import WorkerPool


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(1, begin, (7,), work="counts", remedy="count less")
    yield pool
    pool.close()


def test_results_come_in_order_and_items_are_taken_when_their_turn_comes(pool: WorkerPool) -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(9):
            taken.append(number)
            yield number

    results = pool.in_order(times, items(), ahead=3)
    assert next(results) == 0
    assert taken == [0, 1, 2]
    assert list(results) == [7 * number for number in range(1, 9)]


def test_ctrl_c_ends_no_worker_not_even_one_that_is_starting(pool: WorkerPool) -> None:
    others = set(multiprocessing.active_children())
    pool.start()
    (worker,) = set(multiprocessing.active_children()) - others
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGINT)
    assert list(pool.in_order(times, [2], ahead=1)) == [14]


def test_the_error_of_a_task_is_its_own(pool: WorkerPool) -> None:
    with pytest.raises(TimeoutError, match="of task 3"):
        list(pool.in_order(fail, [3], ahead=1))
    assert list(pool.in_order(times, [2], ahead=1)) == [14]


def test_a_worker_that_cannot_begin_says_why() -> None:
    pool = WorkerPool(1, refuse, ("models/a: damaged",), work="counts", remedy="count less")
    pool.start()
    for _ in range(2):
        with pytest.raises(SavedError, match=r"^models/a: damaged$"):
            list(pool.in_order(times, [1, 2, 3], ahead=2))
    pool.close()


@pytest.mark.parametrize("task", [die, die_while_sending])
def test_a_worker_that_is_killed_is_one_clear_error(
    task: object, pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_WATCH_SECONDS", 0.1)
    with pytest.raises(WorkerError, match=r"a process that counts was killed.*; count less"):
        list(pool.in_order(task, range(20), ahead=8))  # type: ignore[arg-type]
    with pytest.raises(WorkerError, match="count less"):
        list(pool.in_order(times, [2], ahead=1))


def test_tasks_that_nobody_reads_any_more_keep_no_pool_open(pool: WorkerPool) -> None:
    """They fill the pipe, at which the executor of older Pythons waits."""
    with pytest.raises(WorkerError):
        list(pool.in_order(die, [bytes(1 << 20)] * 4, ahead=4))  # type: ignore[arg-type]
    closing = Thread(target=pool.close, daemon=True)
    closing.start()
    closing.join(timeout=60)
    assert not closing.is_alive()


def test_a_pool_closes_whose_worker_was_killed_unnoticed(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_WATCH_SECONDS", 0.1)
    others = set(multiprocessing.active_children())
    assert list(pool.in_order(times, [1], ahead=1)) == [7]
    (worker,) = set(multiprocessing.active_children()) - others
    results = pool.in_order(then_die_while_sending, [0, 1, 2], ahead=2)
    assert next(results) == 0
    worker.join()
    results.close()  # as when an error elsewhere ends the work
    closing = Thread(target=pool.close, daemon=True)
    closing.start()
    closing.join(timeout=60)
    assert not closing.is_alive()


SCRIPT = """
import warnings

warnings.simplefilter("error")
import worker_tasks

from dragoman.core.processes import WorkerPool

pool = WorkerPool(2, worker_tasks.begin, (7,), work="counts", remedy="count less")
print(*pool.in_order(worker_tasks.times, range(4), ahead=2))
"""


@pytest.mark.parametrize("through_standard_input", [False, True])
def test_a_script_needs_no_guard_and_is_not_run_again(
    through_standard_input: bool, tmp_path: Path
) -> None:
    """Nor does it need to close anything: its workers end with it, and without a word."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-" if through_standard_input else script],
        input=SCRIPT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 7 14 21\n", "")


def test_a_closed_pool_says_so(pool: WorkerPool) -> None:
    results = pool.in_order(slowly, range(20), ahead=20)
    assert next(results) == 0
    pool.close()  # after the task at hand, not after all
    with pytest.raises(WorkerError, match="counts in several processes was closed meanwhile"):
        list(results)
    with pytest.raises(WorkerError, match="closed"):
        list(pool.in_order(times, [1], ahead=1))
    pool.close()
