"""What is kept, as values that outlive the session of the database."""

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
    """How its secret begins, to recognise it by."""


@dataclass(frozen=True)
class Usage:
    """What was asked for in a calendar month (UTC)."""

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
    """Whose it is, if a key came with it."""
    reviewed: datetime | None = None
    """When it was accepted or rejected."""


@dataclass(frozen=True)
class KeptDictionary:
    """One direction of a glossary; its entries are fetched apart, as they may be many."""

    source_language: str
    target_language: str
    entry_count: int
    revision: int
    """Another number, never used before, whenever its entries change; ascending in a glossary."""


@dataclass(frozen=True)
class KeptGlossary:
    """Terms for one direction or several, which their owner calls by ``id``."""

    id: str
    name: str
    dictionaries: tuple[KeptDictionary, ...]
    """In the order in which they were made; no direction has two."""
    created: datetime
    key: int | None = None

    def dictionary(self, source_language: str, target_language: str) -> KeptDictionary | None:
        """That of one direction."""
        wanted = spelling(source_language), spelling(target_language)
        for one in self.dictionaries:
            if (one.source_language, one.target_language) == wanted:
                return one
        return None


@dataclass(frozen=True)
class DocumentJob:
    """A file that is translated in the background."""

    id: str
    secret: str
    """What a client must show beside the id, to see or fetch it."""
    file_name: str
    """As the client calls it; it is never opened."""
    source_language: str | None
    target_language: str
    state: JobState
    created: datetime
    characters: int = 0
    message: str | None = None
    """What went wrong."""
    key: int | None = None
    result_name: str | None = None
    """Suggested name of the translated file."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How it is to be translated, as plain values."""
    started: datetime | None = None
    """When its translation began, the last time if there were several."""
    texts_done: int = 0
    texts: int = 0
    """How many texts it has; 0: not known yet."""
    abandoned: int = 0
    """How often its translator fell silent, such as a server that was killed."""
    changed: datetime | None = None
    """When its state last changed, or its translator was last heard."""
