"""The kept records, as values that outlive the database session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from dragoman.text.language_codes import spelling

CorrectionState = Literal["pending", "accepted", "rejected"]
JobState = Literal["queued", "translating", "done", "error"]

Entries = tuple[tuple[str, str], ...]
"""Terms of a glossary, each with its translation."""


@dataclass(frozen=True)
class ApiKey:
    """Who may call the server; the secret itself is not kept."""

    id: int
    name: str
    created: datetime
    revoked: datetime | None = None
    requests_per_minute: int | None = None
    """None: as for all."""
    characters_per_month: int | None = None
    """None: as for all."""
    prefix: str = ""
    """The first characters of its secret, for recognition."""


@dataclass(frozen=True)
class Usage:
    """Usage in a calendar month (UTC)."""

    characters: int = 0
    requests: int = 0


@dataclass(frozen=True)
class Correction:
    """A better translation that someone has sent."""

    id: int
    source: str
    target: str
    source_language: str
    target_language: str
    state: CorrectionState
    created: datetime
    key: int | None = None
    """Number of the key that it was sent with, if any."""
    reviewed: datetime | None = None
    """When it was accepted or rejected."""


@dataclass(frozen=True)
class KeptDictionary:
    """One direction of a glossary, without its entries, as they may be many."""

    source_language: str
    target_language: str
    entry_count: int
    revision: int
    """A number never used before, new after each change of entries; ascending in a glossary."""


@dataclass(frozen=True)
class KeptGlossary:
    """Terms for one or several directions, identified by ``id``."""

    id: str
    name: str
    dictionaries: tuple[KeptDictionary, ...]
    """In the order of their creation; at most one per direction."""
    created: datetime
    key: int | None = None

    def dictionary(self, source_language: str, target_language: str) -> KeptDictionary | None:
        """The dictionary of one direction, or None if it does not exist."""
        wanted = spelling(source_language), spelling(target_language)
        for one in self.dictionaries:
            if (one.source_language, one.target_language) == wanted:
                return one
        return None


@dataclass(frozen=True)
class DocumentJob:
    """A file to translate in the background."""

    id: str
    secret: str
    """A client must give it with the id to see or fetch the job."""
    file_name: str
    """The client's name for the file; never opened."""
    source_language: str | None
    target_language: str
    state: JobState
    created: datetime
    characters: int = 0
    message: str | None = None
    """Reason of an error."""
    key: int | None = None
    result_name: str | None = None
    """Suggested name of the translated file."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the translation, as plain values."""
    started: datetime | None = None
    """When its (last) translation began."""
    texts_done: int = 0
    texts: int = 0
    """Number of texts; 0: not known yet."""
    abandoned: int = 0
    """How often its translator fell silent, such as a killed server."""
    changed: datetime | None = None
    """Time of the last change of its state, or of its translator's last report."""
