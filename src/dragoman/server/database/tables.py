"""The tables of the database, after the newest migration."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

# Without names, constraints could not be changed by a later migration.
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


class UtcTime(TypeDecorator[datetime]):
    """A moment; SQLite, which has no time zones, stores it as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Convert a time from Python, which must have a time zone."""
        return None if value is None else value.astimezone(timezone.utc)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Convert a stored time for Python."""
        if value is None:
            return None
        return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).astimezone(
            timezone.utc
        )


def _key() -> Column[int]:
    """The column with the key that owns a row; null: none."""
    return Column("key_id", Integer, ForeignKey("api_keys.id"), index=True)


api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("prefix", String(20), nullable=False, index=True),
    Column("digest", String(64), nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("revoked", UtcTime),
    Column("requests_per_minute", Integer),
    Column("characters_per_month", BigInteger),
)

usage = Table(
    "usage",
    metadata,
    Column("month", String(7), primary_key=True),
    # 0: all clients without a key.  Null would not be unique; so this is not a foreign key.
    Column("owner", Integer, primary_key=True, autoincrement=False),
    Column("characters", BigInteger, nullable=False),
    Column("requests", BigInteger, nullable=False),
)

corrections = Table(
    "corrections",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("source_language", String(35), nullable=False),
    Column("target_language", String(35), nullable=False),
    # SHA-256 of the normalised source, as texts may be too long for an index.
    Column("digest", String(64), nullable=False),
    Column("state", String(10), nullable=False, index=True),
    Column("created", UtcTime, nullable=False),
    Column("reviewed", UtcTime),
    _key(),
    # Of a client without a key, to limit its corrections; deleted at the review.
    Column("address", String(100)),
    Index(None, "digest", "source_language", "target_language"),
)

glossaries = Table(
    "glossaries",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", String(1024), nullable=False),
    Column("created", UtcTime, nullable=False),
    _key(),
)

dictionaries = Table(
    "dictionaries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column(
        "glossary_id",
        String(36),
        ForeignKey("glossaries.id", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("source_language", String(35), nullable=False),
    Column("target_language", String(35), nullable=False),
    Column("entry_count", Integer, nullable=False),
    Column("entries", Text, nullable=False),
    Index(None, "glossary_id", "source_language", "target_language", unique=True),
    sqlite_autoincrement=True,  # so that no id is reused, as ids distinguish revisions
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("secret", String(64), nullable=False),
    Column("file_name", String(1024), nullable=False),
    Column("source_language", String(35)),
    Column("target_language", String(35), nullable=False),
    Column("state", String(12), nullable=False, index=True),
    Column("created", UtcTime, nullable=False, index=True),
    Column("changed", UtcTime, nullable=False),
    Column("characters", BigInteger, nullable=False),
    Column("message", Text),
    _key(),
    Column("result_name", String(1024)),
    Column("options", Text, nullable=False),
    Column("started", UtcTime),
    Column("texts_done", Integer, nullable=False),
    Column("texts", Integer, nullable=False),
    # How often its translator fell silent.
    Column("abandoned", Integer, nullable=False, server_default="0"),
)

job_files = Table(
    "job_files",
    metadata,
    Column("job_id", String(32), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("role", String(8), primary_key=True),  # "source" or "result"
    Column("bytes", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
