"""Sharing work: a pool of processes on one machine, and runners, here or on many machines.

A pool encodes text or translates.  Nothing waits for a dead process: a killed worker raises one
clear error, and a worker whose parent was killed ends as well.

A runner's piece of work is a function of its item alone and leaves its result in files.  It may run
anywhere and in any order, even if a killed process had already begun it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as ResultTimeoutError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any, Protocol, TypeVar

from typing_extensions import override

from dragoman.core.errors import WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")

_hidden = threading.Lock()

_WATCH_SECONDS = 1.0
"""How often a process that waits for a result checks whether the workers are alive."""
_AWAKE_SECONDS = 0.02
_failure: Exception | None = None
"""In a worker: the error that prevented its start."""


@contextmanager
def hidden_script() -> Iterator[None]:
    """Hide the program's script from processes that are started meanwhile.

    Python would run the script there under another name, for its definitions, which workers do not
    need.  A script that opens a translator with workers outside of ``if __name__ == "__main__"``,
    or that is read from standard input, would then fail in each worker.
    """
    with _hidden:
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script


class _Worker(SpawnProcess):
    """A fresh interpreter that does not run the program's own script again."""

    @override
    def start(self) -> None:
        with hidden_script():
            super().start()


class _Context(SpawnContext):
    """A context that starts :class:`_Worker` processes."""

    Process = _Worker


class WorkerPool:
    """Processes that carry out tasks.

    Args:
        processes: number of processes.
        begin: called in each with ``arguments`` before its first task; like tasks, it must be a
            function of a module, not of a script.
        arguments: for ``begin``; sent once, not with every task.
        work: what the workers do, as named in errors, such as "translates".
        remedy: what the user can do if a worker is killed.
    """

    def __init__(
        self,
        processes: int,
        begin: Callable[..., None],
        arguments: tuple[Any, ...],
        *,
        work: str,
        remedy: str,
    ) -> None:
        # Fresh interpreters: a forked copy of a process with threads may hang.
        self._executor = ProcessPoolExecutor(
            processes,
            mp_context=_Context(),
            initializer=_begin,
            initargs=(begin, arguments),
        )
        self.work, self.remedy = work, remedy
        self._processes, self._closed = processes, False

    def start(self) -> None:
        """Start all processes now; otherwise each starts when a task meets no idle process."""
        with suppress(BrokenProcessPool):  # which the first task will find too
            for _ in range(self._processes):
                self.submit(_nothing)

    def in_order(
        self, task: Callable[[Item], Result], items: Iterable[Item], *, ahead: int
    ) -> Generator[Result, None, None]:
        """The results of ``task``, a function of a module, in the order of ``items``.

        Items are consumed as results are taken, at most ``ahead`` of them in advance.

        Raises:
            WorkerError: a worker was killed, or the pool was closed meanwhile.
        """
        pending: deque[Future[Result]] = deque()
        try:
            for item in items:
                pending.append(self.submit(task, item))
                if len(pending) >= ahead:
                    yield self.result(pending.popleft())
            while pending:
                yield self.result(pending.popleft())
        except BrokenProcessPool as error:
            # The executor ends the remaining tasks.  Cancelling would end its thread in Python
            # before 3.12.1.
            pending.clear()
            self._let_end()
            raise self.killed("was killed") from error
        except CancelledError as error:  # by another thread
            raise self.ended() from error

    def close(self) -> None:
        """End the processes after their current tasks; closing twice is harmless."""
        self._closed = True
        self._break_if_a_worker_is_gone()
        if self.is_broken:
            self._let_end()
        self._executor.shutdown(cancel_futures=True)

    @property
    def is_broken(self) -> bool:
        """Whether a worker was killed, which ends the others as well."""
        executor: Any = self._executor
        return bool(executor._broken) or not all(worker.is_alive() for worker in self._workers())

    def begin(self) -> None:
        """Start all processes, and wait until each is ready for tasks."""
        begun: set[int | None] = set()
        while not begun or not begun.issuperset(worker.pid for worker in self._workers()):
            waiting = [self.submit(_awake) for _ in range(self._processes)]
            begun.update(map(self.result, waiting))

    def submit(self, task: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Submit a task, for which the executor may start a process.

        The new process inherits the blocked signals: Ctrl-C, which reaches every process of a
        terminal, would otherwise print a traceback for each process that is still importing.
        """
        if self._closed:
            raise self.ended()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._executor.submit(_carry_out, task, *arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def result(self, future: Future[Result]) -> Result:
        """The result of a submitted task, or the error that it raises.

        Raises:
            BrokenProcessPool: a worker was killed before the task was done.
            CancelledError: the pool was closed before the task began.
        """
        while True:
            try:
                return future.result(timeout=_WATCH_SECONDS)
            except ResultTimeoutError:
                if future.done():
                    return future.result()
                self._break_if_a_worker_is_gone()

    def killed(self, what: str) -> WorkerError:
        """The error for a killed worker, described by ``what``."""
        return WorkerError(
            f"a process that {self.work} {what}, perhaps for lack of memory; {self.remedy}"
        )

    def ended(self) -> WorkerError:
        """The error for tasks of a closed pool."""
        return WorkerError(f"what {self.work} in several processes was closed meanwhile")

    def _workers(self) -> list[SpawnProcess]:
        executor: Any = self._executor  # no public attribute has them
        return list((executor._processes or {}).values())

    def _break_if_a_worker_is_gone(self) -> None:
        """Make the executor notice a worker that was killed while it sent a result.

        The executor notices all other deaths by itself.  In the middle of a message it waits for
        the rest, which cannot come, as the pipe does not end while this process also holds an end
        of it.
        """
        executor: Any = self._executor  # no public attribute suffices here
        workers = self._workers()
        if executor._broken or all(worker.is_alive() for worker in workers):
            return
        time.sleep(_WATCH_SECONDS)  # it may be about to notice, and must then not be disturbed
        if executor._broken:
            return
        for worker in workers:
            worker.kill()
            worker.join()
        self._stop_feeding()
        executor._result_queue._writer.close()

    def _let_end(self) -> None:
        """Make a broken executor end: older releases of Python wait until its tasks are read.

        Those with the repair of gh-94777 close the pipe, and fail if it is also closed from here.
        """
        executor: Any = self._executor
        thread = executor._executor_manager_thread
        if thread is not None:
            thread.join(_WATCH_SECONDS)
            if thread.is_alive():
                self._stop_feeding()

    def _stop_feeding(self) -> None:
        """Close the end of the pipe from which workers would read their tasks."""
        executor: Any = self._executor
        if executor._call_queue is not None:
            executor._call_queue._reader.close()


def _begin(begin: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Make this process a worker."""
    global _failure  # noqa: PLW0603 - what a pool's initializer leaves for its tasks
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        begin(*arguments)
    except Exception as error:  # for which the executor would report a dead process
        _failure = error


def _carry_out(task: Callable[..., Result], *arguments: Any) -> Result:
    """Run a task in a worker, or raise the reason why the worker could not start."""
    if _failure is not None:
        raise _failure
    return task(*arguments)


def _end_with_parent() -> None:
    """End this worker when its parent is killed, instead of waiting for its queue for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"
    wait([parent.sentinel])
    os._exit(1)


def _nothing() -> None:
    """A task that only makes a worker start."""


def _awake() -> int:
    """A task that identifies its worker, and leaves time for the others to start."""
    time.sleep(_AWAKE_SECONDS)
    return os.getpid()


class Runner(Protocol):
    """Runs pieces of work; ``workflows.cluster`` has the implementation for several machines."""

    @property
    def machines(self) -> int:
        """Number of machines that work at present."""

    def carry_out(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """The items with their results, in any order.

        Items are consumed as results are taken, only a few in advance.  The work can be sent to
        another machine, and repeated there without harm.

        Raises:
            WorkerError: workers were killed more often than the limit.
        """


class InProcessRunner:
    """Carries out everything here, one item after another."""

    machines = 1

    def carry_out(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """The items with their results, in their order."""
        return ((item, work(item)) for item in items)
