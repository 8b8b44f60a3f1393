"""An event loop in a thread of its own, for calls that wait for their results.

A loop of the calling thread would not do: notebooks run one there already.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from dragoman.core.errors import UsageError

_SLICE = 0.25  # seconds; on Windows, Ctrl-C does not end a longer wait

_Value = TypeVar("_Value")


class LoopThread:
    """Runs coroutines for callers in any threads; the thread starts with the first.

    Args:
        end: called in the loop before it ends.
    """

    def __init__(self, end: Callable[[], Awaitable[None]]) -> None:
        self._end, self._lock = end, threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, _Value]) -> _Value:
        """The result of a coroutine; one that raises ends this call with its error.

        Raises:
            UsageError: this is closed, or belongs to the process that forked this one.
        """
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        except UsageError:
            coroutine.close()
            raise
        try:
            while not wait([future], _SLICE).done:
                pass
        except BaseException:  # Ctrl-C
            future.cancel()
            raise
        return future.result()

    def close(self) -> None:
        """End the loop and its thread."""
        with self._lock:
            self._closed = True
            thread, loop, stop = self._thread, self._loop, self._stop
        if thread is None or loop is None or stop is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(stop.set)
        if thread is not threading.current_thread():  # the garbage collector may run there
            thread.join()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise UsageError("this client is closed; make another one to go on")
            if self._thread is None:
                ready: Future[asyncio.AbstractEventLoop] = Future()
                self._thread = threading.Thread(
                    target=lambda: asyncio.run(self._serve(ready)), name="dragoman", daemon=True
                )
                self._thread.start()
                self._loop = ready.result()
            if not self._thread.is_alive():
                raise UsageError(
                    "this client was used before the process forked; make another one to go on"
                )
            assert self._loop is not None
            return self._loop

    async def _serve(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        self._stop = asyncio.Event()
        ready.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        await self._end()
