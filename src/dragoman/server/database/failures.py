"""Turns database errors into readable errors."""

from __future__ import annotations

import logging
import re

from sqlalchemy.exc import (
    DataError as SqlDataError,
)
from sqlalchemy.exc import (
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from dragoman.core.errors import DragomanError, SavedError, StorageError


class UnansweredError(StorageError):
    """A database that does not answer: full, locked, read-only, deleted or unreachable."""


class UnwritableError(UnansweredError):
    """A database that cannot be written but perhaps read: full, read-only, or others write."""


class DamagedError(SavedError):
    """A database whose file or tables are damaged."""


AWAY = (UnansweredError, DamagedError)
"""The errors of a store whose database does not answer; raised only in that case."""


class Outage:
    """Logs why the database refuses a repeated attempt.

    Each reason is logged once until it changes or the database answers.  Otherwise a disk that is
    full overnight would fill the log.
    """

    def __init__(self, log: logging.Logger, what: str) -> None:
        self._log, self._what = log, what
        self._reason: str | None = None
        self._ends_with_writing = False

    def begin(self, error: Exception) -> None:
        """Log a refusal by the database, unless its reason is already logged."""
        self._ends_with_writing = isinstance(error, UnwritableError)
        reason = str(error)
        if reason != self._reason:
            self._reason = reason
            self._log.error("%s, and will be tried again: %s", self._what, reason)

    def end(self, *, written: bool = True) -> None:
        """Note that the database has answered.

        Args:
            written: whether something was written.  A full or read-only database can still be read,
                and can delete rows that do not exist.
        """
        if self._reason is not None and (written or not self._ends_with_writing):
            self._reason = None
            self._log.info("the database answers again")


_FULL = "the disk is full; free some space and repeat this"
_READ_ONLY = "it is read-only; change its permissions or choose another database"
_BUSY = "others have been writing for {seconds:g} seconds; repeat this later"

_UNWRITABLE = {_FULL, _READ_ONLY, _BUSY}

# By SQLite's messages, as one error code stands for missing tables and much else.
_SQLITE = {
    "is locked": _BUSY,
    "is full": _FULL,
    "readonly database": _READ_ONLY,
    "unable to open": "it cannot be opened; check its path, and who may read and write there",
    "disk I/O error": "the disk reports an error; choose another disk",
}
_DAMAGED = re.compile("not a database|malformed|unsupported file format")
_LACKING = re.compile("no such table|no such column")

# By SQLSTATE (PostgreSQL's manual, appendix A).
_POSTGRESQL = {
    "53100": _FULL,
    "25006": _READ_ONLY,
    "42501": "permission denied; give its user the right to make and change tables",
    "55P03": _BUSY,
    "57014": _BUSY,
}
_UNDEFINED = {"42P01", "42703"}  # a table, a column


def unopened(name: str, reason: str) -> UnansweredError:
    """The error for a database that cannot be opened."""
    return UnansweredError(f"cannot open {name}: {reason}, or choose another database")


def explained(error: SQLAlchemyError, name: str, busy_seconds: float) -> DragomanError | None:
    """The readable error for an error of SQLAlchemy; None if it is a bug in this program."""
    if isinstance(error, PoolTimeoutError):
        return UnansweredError(f"{name}: all connections are in use; repeat this later")
    if not isinstance(error, DBAPIError) or isinstance(
        error, (IntegrityError, SqlDataError, NotSupportedError)
    ):
        return None
    said = " ".join(str(error.orig).split())
    state = getattr(error.orig, "sqlstate", None)
    if (damage := _damage(said, state)) is not None:
        return DamagedError(
            f"{name}: {damage}; restore it from a backup, or choose another database"
        )
    if state is not None:
        reason = _POSTGRESQL.get(state)
    else:
        reason = next((reason for part, reason in _SQLITE.items() if part in said), None)
    if reason is not None:
        kind = UnwritableError if reason in _UNWRITABLE else UnansweredError
        return kind(f"{name}: {reason.format(seconds=busy_seconds)}")
    if type(error.orig).__module__.startswith("psycopg") and _is_unreachable(error, state):
        return UnansweredError(
            f"{name}: cannot be reached: {said}; check that the server runs, and the URL"
        )
    return None


def _damage(said: str, state: str | None) -> str | None:
    """A description of the damage to a database; None if the error has another reason."""
    if state in _UNDEFINED or (state is None and _LACKING.search(said)):
        return "tables or columns that it had are missing"
    if state is None and _DAMAGED.search(said):
        return "damaged, or not an SQLite database"
    return None


def _is_unreachable(error: DBAPIError, state: str | None) -> bool:
    # 08: connection exceptions, 28: invalid authorisation, 3D: no such database, 53: too many
    # connections or no memory, 57P: the server is shutting down.
    known = ("08", "28", "3D", "53", "57P")
    return error.connection_invalidated or (
        isinstance(error, OperationalError) if state is None else state.startswith(known)
    )
