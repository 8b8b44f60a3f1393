"""Run by Alembic: applies the steps in the given transaction."""

from __future__ import annotations

from alembic import context

from dragoman.server.database.records import Record
from dragoman.server.database.upgrading import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Record.metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # in SQLite too, as we begin the transactions ourselves
    render_as_batch=True,  # SQLite can alter a table only by copying it
)
with context.begin_transaction():
    context.run_migrations()
