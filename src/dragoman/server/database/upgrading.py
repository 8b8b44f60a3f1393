"""Upgrades a database to the revision of this version."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, inspect, text

from dragoman.core.errors import SavedError
from dragoman.server.database.database_engine import Database

VERSION_TABLE = "dragoman_revision"
"""Table of the revision; not Alembic's default name, which other programs use as well."""


def upgrade(database: Database) -> None:
    """Create the tables of an empty database, or upgrade those of an older version.

    If several servers start at once, one of them upgrades while the others wait.
    """
    with database.reading() as session:
        found = _revision(session.connection(), database.name)
    database.let_read_while_writing()
    if found == newest():
        return
    with database.writing("upgrade", patient=True) as session:
        connection = session.connection()
        # Another server may have been faster.
        if _revision(connection, database.name) != newest():
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


@cache
def newest() -> str:
    """The revision of this version."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def _revision(connection: Connection, name: str) -> str | None:
    """The revision of a database; None if it is empty.

    Raises:
        SavedError: the revision is unknown.
    """
    tables = inspect(connection).get_table_names()
    if VERSION_TABLE not in tables:
        if tables:
            raise SavedError(
                f"{name}: holds tables of another program, such as {min(tables)}; choose an empty "
                "database, or one of Dragoman's"
            )
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    if found is None or found == newest():
        return found
    try:
        ScriptDirectory.from_config(_config()).get_revision(found)
    except CommandError as error:
        raise SavedError(
            f"{name}: written by a newer version of Dragoman (revision {found}, this one knows up "
            f"to {newest()}); update Dragoman, or choose another database"
        ) from error
    return str(found)


def _config() -> AlembicConfig:
    config = AlembicConfig()
    # No interpolation, as the path may contain a %.
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    return config
