"""The tables of the database, after the newest migration, and their rows as values.

A row outlives the session that has read it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from sqlalchemy import (
    BigInteger,
    DateTime,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column, relationship

from dragoman.text.language_codes import spelling

CorrectionState = Literal["pending", "accepted", "rejected"]
JobState = Literal["queued", "translating", "done", "error"]

Entries = tuple[tuple[str, str], ...]
"""Terms of a glossary, each with its translation."""


class UtcTime(TypeDecorator[datetime]):
    """A moment; SQLite, which has no time zones, stores it as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Convert a time from Python, which must have a time zone."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Convert a stored time for Python."""
        if value is None:
            return None
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)


class JsonText(TypeDecorator[Any]):
    """Plain values, stored as JSON in a column of text.

    Args:
        ensure_ascii: whether to escape letters, among which may be halves of surrogate pairs.
    """

    impl = Text
    cache_ok = True

    def __init__(self, *, ensure_ascii: bool) -> None:
        super().__init__()
        self.ensure_ascii = ensure_ascii

    def process_bind_param(self, value: Any, dialect: Any) -> str:
        """Convert a value from Python."""
        return json.dumps(value, ensure_ascii=self.ensure_ascii)

    def process_result_value(self, value: str | None, dialect: Any) -> Any:
        """Convert a stored value for Python."""
        return None if value is None else json.loads(value)


class Record(MappedAsDataclass, DeclarativeBase, kw_only=True):
    """A row of a table."""

    # Without names, constraints could not be changed by a later migration.
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        }
    )
    type_annotation_map: ClassVar = {datetime: UtcTime}


class ApiKey(Record):
    """Who may call the server; the secret itself is not kept."""

    __tablename__ = "api_keys"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(String(200))
    prefix: Mapped[str] = mapped_column(String(20), index=True)
    """The first characters of its secret, for recognition."""
    digest: Mapped[str] = mapped_column(String(64), repr=False)
    created: Mapped[datetime]
    revoked: Mapped[datetime | None] = mapped_column(default=None)
    requests_per_minute: Mapped[int | None] = mapped_column(default=None)
    """None: as for all."""
    characters_per_month: Mapped[int | None] = mapped_column(BigInteger, default=None)
    """None: as for all."""


class Usage(Record):
    """Usage in a calendar month (UTC)."""

    __tablename__ = "usage"

    month: Mapped[str] = mapped_column(String(7), primary_key=True)
    owner: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Number of the key; 0: all clients without a key.  Null would not be unique, so this is not a
    foreign key."""
    characters: Mapped[int] = mapped_column(BigInteger)
    requests: Mapped[int] = mapped_column(BigInteger)


class Correction(Record):
    """A better translation that someone has sent."""

    __tablename__ = "corrections"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    source: Mapped[str] = mapped_column(Text)
    target: Mapped[str] = mapped_column(Text)
    source_language: Mapped[str] = mapped_column(String(35))
    target_language: Mapped[str] = mapped_column(String(35))
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the normalised source, as texts may be too long for an index."""
    state: Mapped[CorrectionState] = mapped_column(String(10), index=True)
    created: Mapped[datetime]
    reviewed: Mapped[datetime | None] = mapped_column(default=None)
    """When it was accepted or rejected."""
    key: Mapped[int | None] = mapped_column(
        "key_id", ForeignKey("api_keys.id"), index=True, default=None
    )
    """Number of the key that it was sent with, if any."""
    address: Mapped[str | None] = mapped_column(String(100), default=None)
    """Of a client without a key, to limit its corrections; deleted at the review."""

    __table_args__ = (Index(None, "digest", "source_language", "target_language"),)


class KeptDictionary(Record):
    """One direction of a glossary.  Its entries, which may be many, are read when needed."""

    __tablename__ = "dictionaries"

    revision: Mapped[int] = mapped_column("id", primary_key=True, init=False)
    """A number never used before, new after each change of entries; ascending in a glossary."""
    glossary: Mapped[str] = mapped_column(
        "glossary_id", ForeignKey("glossaries.id", ondelete="CASCADE"), init=False
    )
    source_language: Mapped[str] = mapped_column(String(35))
    target_language: Mapped[str] = mapped_column(String(35))
    entry_count: Mapped[int]
    entries: Mapped[list[tuple[str, str]]] = mapped_column(
        JsonText(ensure_ascii=False), deferred=True, repr=False, compare=False
    )

    __table_args__ = (
        Index(None, "glossary_id", "source_language", "target_language", unique=True),
        {"sqlite_autoincrement": True},  # so that no revision is reused
    )


class KeptGlossary(Record):
    """Terms for one or several directions, identified by ``id``."""

    __tablename__ = "glossaries"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    name: Mapped[str] = mapped_column(String(1024))
    created: Mapped[datetime]
    key: Mapped[int | None] = mapped_column("key_id", ForeignKey("api_keys.id"), index=True)
    dictionaries: Mapped[list[KeptDictionary]] = relationship(
        order_by=KeptDictionary.revision,
        lazy="selectin",
        cascade="all, delete-orphan",
        passive_deletes=True,
    )
    """In the order of their creation; at most one per direction."""

    def dictionary(self, source_language: str, target_language: str) -> KeptDictionary | None:
        """The dictionary of one direction, or None if it does not exist."""
        wanted = spelling(source_language), spelling(target_language)
        for dictionary in self.dictionaries:
            if (dictionary.source_language, dictionary.target_language) == wanted:
                return dictionary
        return None


class DocumentJob(Record):
    """A file to translate in the background."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    secret: Mapped[str] = mapped_column(String(64))
    """A client must give it with the id to see or fetch the job."""
    file_name: Mapped[str] = mapped_column(String(1024))
    """The client's name for the file; never opened."""
    source_language: Mapped[str | None] = mapped_column(String(35))
    target_language: Mapped[str] = mapped_column(String(35))
    state: Mapped[JobState] = mapped_column(String(12), index=True)
    created: Mapped[datetime] = mapped_column(index=True)
    changed: Mapped[datetime]
    """Time of the last change of its state, or of its translator's last report."""
    characters: Mapped[int] = mapped_column(BigInteger, default=0)
    message: Mapped[str | None] = mapped_column(Text, default=None)
    """Reason of an error."""
    key: Mapped[int | None] = mapped_column(
        "key_id", ForeignKey("api_keys.id"), index=True, default=None
    )
    result_name: Mapped[str | None] = mapped_column(String(1024), default=None)
    """Suggested name of the translated file."""
    options: Mapped[dict[str, Any]] = mapped_column(
        JsonText(ensure_ascii=True), default_factory=dict
    )
    """Options of the translation, as plain values."""
    started: Mapped[datetime | None] = mapped_column(default=None)
    """When its (last) translation began."""
    texts_done: Mapped[int] = mapped_column(default=0)
    texts: Mapped[int] = mapped_column(default=0)
    """Number of texts; 0: not known yet."""
    abandoned: Mapped[int] = mapped_column(default=0, server_default="0")
    """How often its translator fell silent, such as a killed server."""


class JobFile(Record):
    """The file of a job: its ``source`` or its ``result``."""

    __tablename__ = "job_files"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    role: Mapped[Literal["source", "result"]] = mapped_column(String(8), primary_key=True)
    size: Mapped[int] = mapped_column("bytes", BigInteger)
    content: Mapped[bytes] = mapped_column(LargeBinary, deferred=True, repr=False, compare=False)
