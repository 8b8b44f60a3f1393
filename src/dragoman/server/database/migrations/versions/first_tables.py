"""The first tables: keys, usage, corrections, glossaries and jobs."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _key(table: str) -> tuple[sa.Column[int], sa.ForeignKeyConstraint]:
    name = f"fk_{table}_key_id"
    return (
        sa.Column("key_id", sa.Integer),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name=name),
    )


def _primary(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=f"pk_{table}")


def upgrade() -> None:
    """Create the tables in an empty database."""
    _keys()
    _corrections()
    _glossaries()
    _jobs()


def _keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("prefix", sa.String(20), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        _time("created"),
        _time("revoked", nullable=True),
        sa.Column("requests_per_minute", sa.Integer),
        sa.Column("characters_per_month", sa.BigInteger),
        _primary("api_keys", "id"),
    )
    op.create_index("ix_api_keys_prefix", "api_keys", ["prefix"])
    op.create_table(
        "usage",
        sa.Column("month", sa.String(7), nullable=False),
        sa.Column("owner", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("characters", sa.BigInteger, nullable=False),
        sa.Column("requests", sa.BigInteger, nullable=False),
        _primary("usage", "month", "owner"),
    )


def _corrections() -> None:
    op.create_table(
        "corrections",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("source_language", sa.String(35), nullable=False),
        sa.Column("target_language", sa.String(35), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        _time("created"),
        _time("reviewed", nullable=True),
        *_key("corrections"),
        sa.Column("address", sa.String(100)),
        _primary("corrections", "id"),
    )
    op.create_index("ix_corrections_key_id", "corrections", ["key_id"])
    op.create_index("ix_corrections_state", "corrections", ["state"])
    op.create_index(
        "ix_corrections_digest_source_language_target_language",
        "corrections",
        ["digest", "source_language", "target_language"],
    )


def _glossaries() -> None:
    op.create_table(
        "glossaries",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("name", sa.String(1024), nullable=False),
        _time("created"),
        *_key("glossaries"),
        _primary("glossaries", "id"),
    )
    op.create_index("ix_glossaries_key_id", "glossaries", ["key_id"])
    op.create_table(
        "dictionaries",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("glossary_id", sa.String(36), nullable=False),
        sa.Column("source_language", sa.String(35), nullable=False),
        sa.Column("target_language", sa.String(35), nullable=False),
        sa.Column("entry_count", sa.Integer, nullable=False),
        sa.Column("entries", sa.Text, nullable=False),
        _primary("dictionaries", "id"),
        sa.ForeignKeyConstraint(
            ["glossary_id"],
            ["glossaries.id"],
            name="fk_dictionaries_glossary_id",
            ondelete="CASCADE",
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_dictionaries_glossary_id_source_language_target_language",
        "dictionaries",
        ["glossary_id", "source_language", "target_language"],
        unique=True,
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("file_name", sa.String(1024), nullable=False),
        sa.Column("source_language", sa.String(35)),
        sa.Column("target_language", sa.String(35), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        _time("created"),
        _time("changed"),
        sa.Column("characters", sa.BigInteger, nullable=False),
        sa.Column("message", sa.Text),
        *_key("jobs"),
        sa.Column("result_name", sa.String(1024)),
        sa.Column("options", sa.Text, nullable=False),
        _time("started", nullable=True),
        sa.Column("texts_done", sa.Integer, nullable=False),
        sa.Column("texts", sa.Integer, nullable=False),
        _primary("jobs", "id"),
    )
    op.create_index("ix_jobs_created", "jobs", ["created"])
    op.create_index("ix_jobs_key_id", "jobs", ["key_id"])
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_table(
        "job_files",
        sa.Column("job_id", sa.String(32), nullable=False),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        _primary("job_files", "job_id", "role"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name="fk_job_files_job_id", ondelete="CASCADE"
        ),
    )
