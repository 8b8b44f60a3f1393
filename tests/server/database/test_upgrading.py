from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from dragoman.core.errors import SavedError
from dragoman.server.database.database_engine import Database
from dragoman.server.database.records import Record
from dragoman.server.database.server_store import ServerStore
from dragoman.server.database.upgrading import VERSION_TABLE, _config, newest, upgrade

REVISIONS = [one.revision for one in ScriptDirectory.from_config(_config()).walk_revisions()][::-1]


@pytest.fixture
def opened(empty_database: str) -> Iterator[Database]:
    with closing(Database(empty_database)) as found:
        yield found


def test_revisions_are_in_one_line() -> None:
    script = ScriptDirectory.from_config(_config())
    assert script.get_heads() == [newest()]
    assert sorted(REVISIONS) == REVISIONS


@pytest.mark.parametrize("revision", ["base", *REVISIONS])
def test_every_older_database_becomes_that_of_today(opened: Database, revision: str) -> None:
    if revision != "base":
        with opened.writing() as session:
            config = _config()
            config.attributes["connection"] = session.connection()
            command.upgrade(config, revision)
    upgrade(opened)
    with opened.reading() as session:
        connection = session.connection()
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_server_default": True}
        )
        assert context.get_current_revision() == newest()
        assert compare_metadata(context, Record.metadata) == []
        found = inspect(connection)
        for name, table in Record.metadata.tables.items():
            # compare_metadata looks neither at primary keys nor at names of foreign keys.
            primary = found.get_pk_constraint(name)
            assert primary["constrained_columns"] == [one.name for one in table.primary_key]
            names = {one.name for one in table.foreign_key_constraints}
            assert {one["name"] for one in found.get_foreign_keys(name)} == names


@pytest.mark.parametrize("empty_database", ["sqlite"], indirect=True)
def test_readers_of_a_file_do_not_wait_for_a_writer(opened: Database) -> None:
    upgrade(opened)
    with opened.reading() as session:
        assert session.execute(text("PRAGMA journal_mode")).scalar() == "wal"


def test_nothing_is_lost(empty_database: str) -> None:
    with ServerStore(empty_database) as store:
        key, secret = store.create_key("one")
    with ServerStore(empty_database) as store:
        assert store.find_key(secret) == key


def test_servers_that_start_at_once_make_one_database(empty_database: str) -> None:
    barrier = Barrier(5)

    def start(number: int) -> int:
        barrier.wait()
        with ServerStore(empty_database) as store:
            store.charge(None, 1)
            return store.create_key(str(number))[0].id

    with ThreadPoolExecutor(5) as threads:
        assert sorted(threads.map(start, range(5))) == [1, 2, 3, 4, 5]
    with ServerStore(empty_database) as store:
        assert store.used(None) == 5


def test_a_database_of_a_newer_version(empty_database: str) -> None:
    ServerStore(empty_database).close()
    with closing(Database(empty_database)) as opened:
        with opened.writing() as session:
            session.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
        with pytest.raises(SavedError, match=r"newer version of Dragoman \(revision 9999.*update"):
            ServerStore(empty_database)
        with opened.reading() as session:
            found = session.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    assert found == "9999"


def test_an_upgrade_that_fails_leaves_nothing(
    opened: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened.writing() as session:
        session.execute(text("CREATE TABLE jobs (id INTEGER)"))
    monkeypatch.setattr(
        "dragoman.server.database.upgrading._revision", lambda connection, name: None
    )
    with pytest.raises(Exception, match="exists"):
        upgrade(opened)
    with opened.reading() as session:
        assert inspect(session.connection()).get_table_names() == ["jobs"]
