"""How many characters each key has used this month."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol

import anyio
import anyio.to_thread

log = logging.getLogger(__name__)

WRITE_SECONDS = 0.25
"""Least time between two writes: what a process that is killed may forget."""
REREAD_SECONDS = 10.0
"""How long a total is believed, since other processes may write, too."""
RETRY_SECONDS = 5.0
"""How long to wait after the database has refused a write."""


class KeepsUsage(Protocol):
    """What a ledger needs from a :class:`~dragoman.apps.server.store.store.Store`."""

    def charge(self, key: int | None, characters: int, now: datetime | None = None) -> None:
        """Add to what a key has used in this month."""

    def used(self, key: int | None, now: datetime | None = None) -> int:
        """Characters that a key has used in this month."""


class _Total(NamedTuple):
    characters: int
    until: float
    """When it is to be read again."""


class UsageLedger:
    """Counts at once, and writes in the background.

    The first characters after a pause are written immediately, what comes meanwhile together.  It
    must be used in one event loop, and closed there.

    Args:
        store: where usage is kept.
        clock: tells the time, in seconds.
    """

    def __init__(self, store: KeepsUsage, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._pending: Counter[int | None] = Counter()
        self._totals: dict[int | None, _Total] = {}
        self._writing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._closing = asyncio.Event()

    async def used(self, key: int | None) -> int:
        """Characters of a key in this month, with those that are not written yet."""
        total = self._totals.get(key)
        if total is None or total.until <= self._clock():
            async with self._lock:  # not while some are being written, which would count twice
                read = await anyio.to_thread.run_sync(self._store.used, key)
                total = _Total(read, self._clock() + REREAD_SECONDS)
                self._totals[key] = total
        return total.characters + self._pending[key]

    def charge(self, key: int | None, characters: int) -> None:
        """Count characters of a key (None: of everybody without one)."""
        if not characters:
            return
        self._pending[key] += characters
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Write what is left; what the database refuses now is lost, and reported."""
        self._closing.set()
        if self._writing is not None:
            await self._writing
        await self._write_once()
        if self._pending:
            log.error("%d characters could not be charged", sum(self._pending.values()))

    async def _write(self) -> None:
        while self._pending and not self._closing.is_set():
            pause = WRITE_SECONDS if await self._write_once() else RETRY_SECONDS
            with anyio.move_on_after(pause):
                await self._closing.wait()

    async def _write_once(self) -> bool:
        """Write what is pending; False if the database refused."""
        async with self._lock:
            batch = dict(self._pending)
            written, error = await anyio.to_thread.run_sync(self._charge_all, batch)
            for key in written:
                self._pending[key] -= batch[key]
                if not self._pending[key]:
                    del self._pending[key]
                if (total := self._totals.get(key)) is not None:
                    self._totals[key] = total._replace(characters=total.characters + batch[key])
        if error is not None:
            log.error("usage cannot be written, and will be tried again: %s", error)
        return error is None

    def _charge_all(
        self, batch: dict[int | None, int]
    ) -> tuple[list[int | None], Exception | None]:
        """Write a batch, in a thread: the keys that are written, and what stopped the others."""
        written: list[int | None] = []
        try:
            for key, characters in batch.items():
                self._store.charge(key, characters)
                written.append(key)
        except Exception as error:
            return written, error
        return written, None
