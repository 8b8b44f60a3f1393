"""An event loop in which waiting takes no time: its clock jumps to whatever comes next."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Selector(selectors.DefaultSelector):
    """Moves the clock instead of sleeping."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found:
            assert timeout is not None, "everybody waits, and nothing is to come"
            self.now += max(0.0, timeout)
        return found


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """As ``asyncio.run``, from time 0 on."""
    loop = _Loop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


def now() -> float:
    return asyncio.get_running_loop().time()


class TimedExecutor(Executor):
    """One worker, whose every task takes so many seconds of the running loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._free = seconds, 0.0

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(task(*args, **kwargs))
            except Exception as error:
                future.set_exception(error)

        self._free = max(self._free, now()) + self._seconds
        asyncio.get_running_loop().call_at(self._free, work)
        return future
