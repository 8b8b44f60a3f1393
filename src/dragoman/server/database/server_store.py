"""The database behind a server, whose blocking calls run in threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import to_thread

from dragoman.server.database import StoreLimits
from dragoman.server.database.corrections_store import CorrectionShelf
from dragoman.server.database.database_engine import BUSY_SECONDS, Database
from dragoman.server.database.glossaries_store import GlossaryShelf
from dragoman.server.database.jobs_store import JobShelf
from dragoman.server.database.keys_store import KeyShelf, UsageShelf
from dragoman.server.database.upgrading import upgrade

Result = TypeVar("Result")


async def in_thread(call: Callable[..., Result], *arguments: object, **named: object) -> Result:
    """The result of a blocking call, which runs in a thread.

    A request whose time is up or whose client has left does not wait for the call, as a database
    may hang.  The call itself continues.
    """
    return await to_thread.run_sync(partial(call, *arguments, **named), abandon_on_cancel=True)


class ServerStore(KeyShelf, UsageShelf, CorrectionShelf, GlossaryShelf, JobShelf):
    """Keys, usage, corrections, glossaries and document jobs.

    Methods block; they may be called from any thread.  The APIs call them with
    :func:`in_thread`.  Several processes may use one database.

    Each method may raise an :class:`~dragoman.server.database.failures.UnansweredError` (the
    database is full, locked, read-only or cannot be reached) or a
    :class:`~dragoman.server.database.failures.DamagedError`, which name the database and the
    remedy.  By default, the database is ``server.sqlite`` in the user's data directory; otherwise a
    path or an SQLAlchemy URL names it.
    """

    def __init__(
        self,
        database: str | None = None,
        limits: StoreLimits | None = None,
        *,
        busy_seconds: float = BUSY_SECONDS,
        create: bool = True,
    ) -> None:
        opened = Database(database, busy_seconds=busy_seconds, create=create)
        super().__init__(opened, limits or StoreLimits())
        try:
            upgrade(opened)
        except BaseException:
            opened.close()
            raise

    @property
    def name(self) -> str:
        """The path of the database file, or its URL without the password."""
        return self._database.name

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def __enter__(self) -> ServerStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
