"""The base of all parts of a store."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute

from dragoman.server.database import StoreLimits
from dragoman.server.database.database_engine import Database
from dragoman.text.language_codes import spelling
from dragoman.text.normalization import CONTROLS
from dragoman.translation.service.interface import RefusedError

_LANGUAGE = re.compile(r"[A-Za-z0-9_-]{1,35}", re.ASCII)
_IDENTIFIER = re.compile(r"[0-9a-f-]{32,36}")


class Shelf:
    """A part of a store."""

    def __init__(self, database: Database, limits: StoreLimits) -> None:
        self._database, self._limits = database, limits


def now() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


def storable(text: str, what: str, limit: int) -> str:
    """A text without surrounding white space and without characters that a database cannot hold.

    Raises:
        RefusedError: the result is empty or longer than ``limit`` characters.
    """
    kept = CONTROLS.sub("", text).strip()
    if not kept:
        raise RefusedError("invalid", f"{what} is empty")
    if len(kept) > limit:
        raise RefusedError(
            "too_large", f"{what} has {len(kept):,} characters; the maximum is {limit:,}"
        )
    return kept


def language(code: str) -> str:
    """The canonical form of a language code.

    Raises:
        RefusedError: the code is invalid.
    """
    if not _LANGUAGE.fullmatch(code):
        raise RefusedError("invalid", f"{code[:40]!r} is not a language code")
    return spelling(code)


def is_identifier(text: str) -> bool:
    """Whether a text has the form of an identifier made here."""
    return _IDENTIFIER.fullmatch(text) is not None


def owned_by(column: InstrumentedAttribute[int | None], key: int | None) -> ColumnElement[bool]:
    """The condition for rows of a key; None: rows of all clients without a key."""
    return column.is_(None) if key is None else column == key
