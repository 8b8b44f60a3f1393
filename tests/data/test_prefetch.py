from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.prefetch import Prefetch


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


def wait_for_no_threads() -> None:
    deadline = time.monotonic() + 60  # a busy machine needs longer
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not threads()


@given(st.lists(st.integers(), max_size=20), st.integers(1, 5))
def test_items_come_in_order(items: list[int], depth: int) -> None:
    assert list(Prefetch(items, depth)) == items


def test_an_ended_iterator_stays_ended() -> None:
    items = Prefetch([1])
    assert next(items) == 1
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(items)


def test_an_exception_comes_at_its_place() -> None:
    def failing() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("gone")

    items = Prefetch(failing())
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(KeyError, match="gone"):
        next(items)
    with pytest.raises(StopIteration):
        next(items)


def test_work_runs_ahead_by_depth_and_no_further() -> None:
    done: list[int] = []
    reached = threading.Event()

    def items() -> Iterator[int]:
        for i in range(100):
            done.append(i)
            if i == 3:
                reached.set()
            yield i

    with Prefetch(items(), depth=3) as ahead:
        assert reached.wait(60)  # three wait, the fourth has been made
        time.sleep(0.05)
        assert done == [0, 1, 2, 3]
        assert next(ahead) == 0


def test_closing_early_ends_thread_and_source() -> None:
    closed = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    items = Prefetch(endless(), depth=2)
    assert next(items) == 1
    items.close()
    items.close()  # twice does no harm
    assert closed.is_set()
    assert not threads()
    with pytest.raises(StopIteration):
        next(items)


def test_leaving_a_block_closes() -> None:
    with pytest.raises(RuntimeError), Prefetch(iter(int, 1)) as items:
        assert next(items) == 0
        raise RuntimeError
    assert not threads()


def test_forgetting_the_iterator_closes() -> None:
    items = Prefetch(iter(int, 1))
    next(items)
    del items
    gc.collect()
    wait_for_no_threads()
