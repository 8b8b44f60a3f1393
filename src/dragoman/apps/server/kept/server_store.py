"""The database behind a server."""

from __future__ import annotations

from dragoman.apps.server.kept.corrections_shelf import CorrectionShelf
from dragoman.apps.server.kept.database import BUSY_SECONDS, Database
from dragoman.apps.server.kept.glossaries_shelf import GlossaryShelf
from dragoman.apps.server.kept.jobs_shelf import JobShelf
from dragoman.apps.server.kept.keys_shelf import KeyShelf, UsageShelf
from dragoman.apps.server.kept.store_limits import StoreLimits
from dragoman.apps.server.kept.upgrading import upgrade


class ServerStore(KeyShelf, UsageShelf, CorrectionShelf, GlossaryShelf, JobShelf):
    """Keys, usage, corrections, glossaries and document jobs.

    Methods block; they may be called from any thread.  Doors call them with
    :func:`~dragoman.apps.server.threads.in_thread`.  Several processes may use one database.

    Each method may raise an :class:`~dragoman.apps.server.kept.failures.UnansweredError` (the
    database is full, locked, read-only or cannot be reached) or a
    :class:`~dragoman.apps.server.kept.failures.DamagedError`, which name the database and the
    remedy.

    Args:
        database: a URL as SQLAlchemy writes it, of SQLite or PostgreSQL; or the path of an SQLite
            file; None: ``server.sqlite`` in the user's data directory.
        limits: how much is kept for clients.
        busy_seconds: how long to wait for another process that is writing.
        create: whether to make an SQLite file that does not exist.

    Raises:
        ConfigError: ``database`` names none that is supported.
        MissingExtraError: psycopg is needed and not installed.
        SavedError: the database does not exist, is damaged, foreign, or of a newer version.
        StorageError: it cannot be opened, reached or written.
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
        """The file of the database, or its URL without the password."""
        return self._database.name

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def __enter__(self) -> ServerStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
