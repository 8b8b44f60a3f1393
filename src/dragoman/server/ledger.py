"""Usage without a quota, written to the database in the background."""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from datetime import datetime
from typing import NamedTuple, Protocol

import anyio
import anyio.to_thread

from dragoman.server.outage import Outage

log = logging.getLogger(__name__)

WRITE_SECONDS = 0.25
"""Least time between two writes: a process that is killed forgets what was used since the last."""
RETRY_SECONDS = 5.0
"""How long to wait after the database has refused a write."""


class KeepsUsage(Protocol):
    """What a ledger needs from a :class:`~dragoman.server.database.server_store.ServerStore`."""

    def charge(
        self,
        key: int | None,
        characters: int,
        now: datetime | None = None,
        *,
        limit: int | None = None,
        requests: int = 1,
    ) -> bool:
        """Add requests to what a key has used; False if that would exceed the limit."""


class _Used(NamedTuple):
    characters: int = 0
    requests: int = 0


class UsageLedger:
    """Collects what is used, and writes it in the background.

    The first request after a pause is written immediately, what comes meanwhile together.  It must
    be used in one event loop, and closed there.

    Args:
        store: where usage is kept.
    """

    def __init__(self, store: KeepsUsage) -> None:
        self._store = store
        self._pending: dict[int | None, _Used] = {}
        self._writing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._closing = asyncio.Event()
        self._outage = Outage(log, "usage cannot be written")

    def charge(self, key: int | None, characters: int) -> None:
        """Count a request of a key (None: of everybody without one)."""
        self._add(key, _Used(characters, 1))
        if self._writing is None or self._writing.done():
            loop = asyncio.get_running_loop()
            # Not in the context of this request, whose number its lines in the log would have.
            self._writing = Context().run(lambda: loop.create_task(self._write()))

    async def close(self) -> None:
        """Write what is left; what the database refuses now is lost, and reported."""
        self._closing.set()
        if self._writing is not None:
            await self._writing
        await self._write_once()
        if lost := sum(used.characters for used in self._pending.values()):
            log.error("%d characters could not be charged", lost)

    def _add(self, key: int | None, used: _Used) -> None:
        before = self._pending.get(key, _Used())
        self._pending[key] = _Used(*(a + b for a, b in zip(before, used, strict=True)))

    async def _write(self) -> None:
        while self._pending and not self._closing.is_set():
            pause = WRITE_SECONDS if await self._write_once() else RETRY_SECONDS
            with anyio.move_on_after(pause):
                await self._closing.wait()

    async def _write_once(self) -> bool:
        """Write what is pending; False if the database refused."""
        async with self._lock:
            batch, self._pending = self._pending, {}
            error = await anyio.to_thread.run_sync(self._charge_all, batch)
            for key, used in batch.items():
                self._add(key, used)
        if error is None:
            self._outage.end()
        else:
            self._outage.begin(error)
        return error is None

    def _charge_all(self, batch: dict[int | None, _Used]) -> Exception | None:
        """Write a batch, in a thread; what is written is struck out.  The error, if any."""
        for key, used in list(batch.items()):
            try:
                self._store.charge(key, used.characters, requests=used.requests)
            except Exception as error:
                return error
            del batch[key]
        return None
