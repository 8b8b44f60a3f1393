"""Lines that wait for a second search, gathered from several batches.

Such a search takes almost as long for one line as for many.  If each batch carried out its own, the
few lines that need one would hold up all others, and take longer than them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from dragoman.core.errors import WorkerError
from dragoman.translation.waiting_requests import RequestPart, fail

_ENOUGH = 16
"""Lines for which a search begins at once."""
_LONGEST = 1.0
"""Seconds that a line waits, at most, if no search is under way."""
_PATIENCE = 2.0
"""How long a line waits while other requests are at work, as a multiple of the last search: these
searches then take at most a third of the time."""


class LateLines:
    """Searches for late lines together, one search at a time; used in one event loop.

    Args:
        search: gives lines of the same kind their translations.
        most: maximum lines of a search.
        idle_seconds: after which a search begins if nothing else is at work.
    """

    def __init__(
        self,
        search: Callable[[list[RequestPart]], Awaitable[None]],
        most: int,
        idle_seconds: float,
    ) -> None:
        self._search, self._most, self._idle_seconds = search, most, idle_seconds
        self._waiting: list[tuple[float, RequestPart]] = []  # with the time when each became late
        self._idle_since: float | None = None
        self._last_seconds = 0.0  # that a search took
        self._changed = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def lines(self) -> int:
        """Number of lines that no search has taken yet."""
        return sum(len(part.places) for _, part in self._waiting)

    @property
    def is_behind(self) -> bool:
        """Whether as many lines wait as a search can take."""
        return self.lines >= self._most

    def add(self, part: RequestPart) -> None:
        """Add lines of a request."""
        loop = asyncio.get_running_loop()
        self._waiting.append((loop.time(), part))
        self._changed.set()
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())

    def note_work(self, *, is_idle: bool) -> None:
        """Note whether any other request waits or is being translated."""
        if is_idle != (self._idle_since is not None):
            self._idle_since = asyncio.get_running_loop().time() if is_idle else None
            self._changed.set()

    async def close(self) -> None:
        """Wait until all lines have their translations."""
        self._closed = True
        self._changed.set()
        if self._serving is not None:
            await asyncio.shield(self._serving)

    async def _serve(self) -> None:
        clock = asyncio.get_running_loop().time
        try:
            while self._waiting:
                await self._search_is_due()
                begin = clock()
                await self._search(self._gather())
                self._last_seconds = clock() - begin
        finally:
            for _, part in self._waiting:  # none, unless the event loop ends
                fail(part.request.answer, WorkerError("the batcher has stopped"))

    async def _search_is_due(self) -> None:
        """Wait until there are enough lines, until nothing else is at work, or long enough."""
        clock = asyncio.get_running_loop().time
        while not self._closed and self.lines < min(_ENOUGH, self._most):
            left = self._due() - clock()
            if left <= 0:
                return
            self._changed.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left)

    def _due(self) -> float:
        """When the next search begins if nothing changes."""
        waits = min(_LONGEST, max(self._idle_seconds, _PATIENCE * self._last_seconds))
        times = [self._waiting[0][0] + waits]
        times += (
            part.request.deadline - 2 * self._last_seconds
            for _, part in self._waiting
            if part.request.deadline is not None
        )
        if self._idle_since is not None:
            times.append(self._idle_since + self._idle_seconds)
        return min(times)

    def _gather(self) -> list[RequestPart]:
        """Take lines of the kind of the oldest, oldest first."""
        kind, room = self._waiting[0][1].request.kind, self._most
        taken: list[RequestPart] = []
        left: list[tuple[float, RequestPart]] = []
        for since, part in self._waiting:
            if part.request.answer.done():
                continue  # nobody wants it any more
            if part.request.kind == kind and (not taken or len(part.places) <= room):
                taken.append(part)
                room -= len(part.places)
            else:
                left.append((since, part))
        self._waiting = left
        return taken
