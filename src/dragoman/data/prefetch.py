"""Work done ahead of its consumer, in a background thread."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Prefetch(Iterator[Item]):
    """Iterates over ``items`` with up to ``depth`` of them computed ahead.

    An exception in ``items`` is raised at its place in the order.  Leaving a ``with`` block,
    :meth:`close`, or dropping the iterator stops the thread.
    """

    def __init__(self, items: Iterable[Item], depth: int = 4) -> None:
        assert depth > 0, "depth counts the items that may wait"
        self._buffer: _Buffer[Item] = _Buffer(depth)
        # The thread must not hold ``self``, or an abandoned iterator would never be collected.
        self._thread = threading.Thread(
            target=_fill, args=(items, self._buffer), name="prefetch", daemon=True
        )
        self._finalizer = weakref.finalize(self, self._buffer.close)
        self._thread.start()

    def __next__(self) -> Item:
        return self._buffer.take()

    def close(self) -> None:
        """Stop the thread and wait for its end; items computed ahead are dropped."""
        self._finalizer()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Prefetch[Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Buffer(Generic[Item]):
    """Shared by producer and consumer: a bounded queue that either side can end."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._closed = False
        self._error: BaseException | None = None

    def put(self, item: Item) -> bool:
        """Wait for room and add ``item``; False if no more items are wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._depth)
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True

    def end(self, error: BaseException | None) -> None:
        """Signal that no more items come; ``error`` is the failure, if any."""
        with self._changed:
            self._ended = True
            self._error = error
            self._changed.notify_all()

    def take(self) -> Item:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._ended or bool(self._items))
            if self._items and not self._closed:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
            error, self._error = self._error, None
            if error is not None and not self._closed:
                raise error
            raise StopIteration

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()


def _fill(items: Iterable[Item], buffer: _Buffer[Item]) -> None:
    error: BaseException | None = None
    try:
        for item in items:
            if not buffer.put(item):
                break
    except BaseException as problem:
        error = problem
    finally:
        if isinstance(items, Generator):
            items.close()
        buffer.end(error)
