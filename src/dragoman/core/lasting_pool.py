"""A pool of processes that survives when one of them is killed.

In the executor underneath, all processes end with the killed process, and their tasks are lost.
This pool starts new processes and repeats the lost tasks, one at a time, which distinguishes a task
that kills its process from tasks that were lost with it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dragoman.core.errors import DragomanError, NoWorkersError
from dragoman.core.processes import WorkerPool

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0
"""Seconds before failed processes are started again; doubled from try to try."""


@dataclass(frozen=True)
class _Submitted(Generic[Item, Result]):
    """A task, and the pool to which it was submitted."""

    item: Item
    pool: WorkerPool
    future: Future[Result]


class LastingPool:
    """Processes that carry out tasks, and are replaced when one of them is killed.

    Several threads may use it at a time.  ``new`` makes the first pool, and those after it.
    """

    def __init__(self, new: Callable[[], WorkerPool]) -> None:
        self._new = new
        self._pool, self._exchange = new(), threading.Lock()
        self._turn = threading.Lock()  # whoever submits has it, or replaces the pool
        self._waiting: set[Future[Any]] = set()
        self._stands, self._closed = True, False
        self._pause, self._not_before = _FIRST_PAUSE, 0.0

    @property
    def is_ready(self) -> bool:
        """Whether a task would be carried out at once, without waiting for new processes."""
        return self._stands and not self._pool.is_broken

    def start(self) -> None:
        """Start all processes now; otherwise each starts when a task meets no idle process."""
        self._pool.start()

    def close(self) -> None:
        """End the processes after their current tasks; closing twice is harmless."""
        with self._exchange:
            self._closed = True
            pool = self._pool
        pool.close()

    def in_order(
        self, task: Callable[[Item], Result], items: Iterable[Item], *, ahead: int
    ) -> Generator[Result, None, None]:
        """The results of ``task`` in the order of ``items``.

        Items are consumed as by :meth:`~dragoman.core.processes.WorkerPool.in_order`.  A task whose
        process is killed is repeated once, while no other task runs.

        Raises:
            NoWorkersError: processes were killed, and others cannot be started.
            WorkerError: a task was killed twice, or the pool was closed meanwhile.
        """
        pending: deque[_Submitted[Item, Result]] = deque()
        for item in items:
            pending.append(self._submitted(task, item))
            if len(pending) >= ahead:
                yield self._result(task, pending.popleft())
        while pending:
            yield self._result(task, pending.popleft())

    def _submitted(self, task: Callable[[Item], Result], item: Item) -> _Submitted[Item, Result]:
        with self._turn:
            pool = self._standing()
            try:
                future = pool.submit(task, item)
            except BrokenProcessPool as error:  # this very moment
                future = Future()
                future.set_exception(error)
            self._waiting.add(future)
            future.add_done_callback(self._waiting.discard)
        return _Submitted(item, pool, future)

    def _result(
        self, task: Callable[[Item], Result], submitted: _Submitted[Item, Result]
    ) -> Result:
        try:
            return submitted.pool.result(submitted.future)
        except (BrokenProcessPool, CancelledError) as error:
            if self._closed:
                raise submitted.pool.ended() from error
        return self._again(task, submitted.item)

    def _again(self, task: Callable[[Item], Result], item: Item) -> Result:
        """The result of a task that runs alone."""
        with self._turn:
            pool = self._standing()
            for future in list(self._waiting):
                with suppress(Exception):  # reported where it was submitted
                    pool.result(future)
            pool = self._standing()
            try:
                return pool.result(pool.submit(task, item))
            except (BrokenProcessPool, CancelledError) as error:
                if self._closed:
                    raise pool.ended() from error
                raise pool.killed("was killed twice at the same task") from error

    def _standing(self) -> WorkerPool:
        """A pool of living processes, replaced if any was killed."""
        if self._closed or self.is_ready:
            return self._pool
        if time.monotonic() < self._not_before:
            raise self._away("this is tried again later")
        log.warning(
            "a process that %s was killed, perhaps for lack of memory; others are started, and do "
            "again what it was doing",
            self._pool.work,
        )
        self._stands = False
        self._pool.close()
        with self._exchange:
            if not self._closed:
                self._pool = self._new()
        self._begin(self._pool)
        return self._pool

    def _begin(self, pool: WorkerPool) -> None:
        try:
            pool.begin()
        except (BrokenProcessPool, CancelledError, DragomanError, OSError) as error:
            if self._closed:
                raise pool.ended() from error
            pool.close()
            self._not_before = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            killed = isinstance(error, BrokenProcessPool)
            failure = self._away("they were killed, too" if killed else str(error))
            log.error("%s", failure)
            raise failure from error
        self._stands, self._pause = True, _FIRST_PAUSE

    def _away(self, reason: str) -> NoWorkersError:
        return NoWorkersError(
            f"a process that {self._pool.work} was killed, and others cannot be started in its "
            f"place ({reason}); {self._pool.remedy}"
        )
