"""A database that is away for a while: one line says so, and one that it is back."""

from __future__ import annotations

import logging

from dragoman.server.database.failures import DamagedError, UnansweredError, UnwritableError

AWAY = (UnansweredError, DamagedError)
"""What a store raises whose database does not answer; nothing else does."""


class Outage:
    """Logs why the database refuses something that is tried again and again.

    Each reason is logged once, until there is another one or the database has answered: a disk that
    is full for a night would otherwise fill the log, too.

    Args:
        log: where to.
        what: what fails, such as "usage cannot be written".
    """

    def __init__(self, log: logging.Logger, what: str) -> None:
        self._log, self._what = log, what
        self._reason: str | None = None
        self._ends_with_writing = False

    def begin(self, error: Exception) -> None:
        """The database has refused it, for this reason."""
        self._ends_with_writing = isinstance(error, UnwritableError)
        reason = str(error)
        if reason != self._reason:
            self._reason = reason
            self._log.error("%s, and will be tried again: %s", self._what, reason)

    def end(self, *, written: bool = True) -> None:
        """The database has answered.

        Args:
            written: whether something was written: one that is full or read-only can still be read,
                and deletes what does not exist.
        """
        if self._reason is not None and (written or not self._ends_with_writing):
            self._reason = None
            self._log.info("the database answers again")
