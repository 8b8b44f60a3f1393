from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from worker_tasks import begin, begin_once, begin_slowly, die, die_unless_marked, times

from dragoman.core import lasting_pool
from dragoman.core.errors import NoWorkersError, WorkerError
from dragoman.core.lasting_pool import LastingPool
from dragoman.core.processes import WorkerPool


def counting(begin: Callable[..., None], *arguments: object) -> LastingPool:
    return LastingPool(lambda: WorkerPool(1, begin, arguments, work="counts", remedy="count less"))


@pytest.fixture
def pool() -> Iterator[LastingPool]:
    pool = counting(begin, 7)
    yield pool
    pool.close()


def kill_workers(others: set[Any]) -> None:
    for worker in set(multiprocessing.active_children()) - others:
        worker.kill()
        worker.join()


def test_others_take_the_place_of_a_killed_worker(pool: LastingPool) -> None:
    others = set(multiprocessing.active_children())
    assert list(pool.in_order(times, [1], ahead=1)) == [7]
    assert pool.is_ready
    kill_workers(others)
    assert not pool.is_ready
    assert list(pool.in_order(times, range(4), ahead=2)) == [0, 7, 14, 21]
    assert pool.is_ready


def test_a_task_that_was_lost_is_done_again_in_its_order(pool: LastingPool, tmp_path: Path) -> None:
    items = [(str(tmp_path / "mark"), number) for number in range(6)]
    assert list(pool.in_order(die_unless_marked, items, ahead=4)) == list(range(6))


def test_a_task_that_is_lost_twice_is_an_error_of_it_alone(pool: LastingPool) -> None:
    """Whatever was in the same processes, or waits for others, gets its answer."""
    with ThreadPoolExecutor(3) as threads:
        innocent = [
            threads.submit(lambda: list(pool.in_order(times, range(6), ahead=3))) for _ in range(2)
        ]
        guilty = threads.submit(lambda: list(pool.in_order(die, [1], ahead=1)))
        with pytest.raises(WorkerError, match=r"that counts was killed twice .*; count less$"):
            guilty.result()
        assert [one.result() for one in innocent] == [[7 * n for n in range(6)]] * 2
    assert list(pool.in_order(times, [2], ahead=1)) == [14]


def test_processes_that_cannot_be_started_are_told_and_tried_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(lasting_pool, "time", SimpleNamespace(monotonic=lambda: now[0]))
    mark, others = tmp_path / "mark", set(multiprocessing.active_children())
    pool = counting(begin_once, str(mark))
    assert list(pool.in_order(times, [1], ahead=1)) == [7]
    kill_workers(others)
    with pytest.raises(NoWorkersError, match=r"started in its place \(they were killed, too\); c"):
        list(pool.in_order(times, [1], ahead=1))
    mark.unlink()
    now[0] += 4.9  # not even tried
    with pytest.raises(NoWorkersError, match=r"\(this is tried again later\); count less"):
        list(pool.in_order(times, [1], ahead=1))
    assert not pool.is_ready
    now[0] += 0.1
    assert list(pool.in_order(times, [1], ahead=1)) == [7]
    assert pool.is_ready
    pool.close()


def test_a_pool_that_is_closed_while_others_are_started_leaves_none(tmp_path: Path) -> None:
    others = set(multiprocessing.active_children())
    mark = tmp_path / "mark"
    pool = counting(begin_slowly, str(mark))
    assert list(pool.in_order(times, [1], ahead=1)) == [7]
    kill_workers(others)
    mark.unlink()
    with ThreadPoolExecutor(1) as threads:
        work = threads.submit(lambda: list(pool.in_order(times, [1], ahead=1)))
        while not mark.exists():
            time.sleep(0.01)
        pool.close()
        with pytest.raises(WorkerError, match="counts in several processes was closed meanwhile"):
            work.result()
    assert not set(multiprocessing.active_children()) - others
    with pytest.raises(WorkerError, match="closed meanwhile"):
        list(pool.in_order(times, [1], ahead=1))


def test_workers_of_a_forgotten_pool_end() -> None:
    others = set(multiprocessing.active_children())
    pool = counting(begin, 7)
    assert list(pool.in_order(times, [1], ahead=1)) == [7]
    kill_workers(others)
    assert list(pool.in_order(times, [1], ahead=1)) == [7]
    (worker,) = set(multiprocessing.active_children()) - others
    del pool
    end = time.monotonic() + 60
    while worker.exitcode is None and time.monotonic() < end:
        time.sleep(0.01)  # the pool's own thread waits for it, too, and may be the first
    assert worker.exitcode == 0
