"""What goes wrong with databases, and what users are told."""

from __future__ import annotations

import socket
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert, select, text
from sqlalchemy.exc import DBAPIError

from dragoman.core.errors import ConfigError, MissingExtraError, SavedError, StorageError
from dragoman.server.database.database_engine import Database, database_url
from dragoman.server.database.failures import explained
from dragoman.server.database.records import DocumentJob, Usage
from dragoman.server.database.server_store import ServerStore
from soak.postgresql import PostgresqlServer

USAGE = {"month": "2026-11", "owner": 0, "characters": 1, "requests": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "server.sqlite"


@pytest.fixture
def opened(database: str) -> Iterator[Database]:
    with closing(Database(database, busy_seconds=0.05)) as found:
        yield found


def test_the_default_is_in_the_users_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with ServerStore() as store:
        assert Path(store.name) == tmp_path / "dragoman" / "server.sqlite"
    assert Path(store.name).is_file()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("/a/b.sqlite", "sqlite:////a/b.sqlite"),
        ("sqlite:////a/b", "sqlite:////a/b"),
        ("postgresql://u:p@h:1/d", "postgresql+psycopg://u:p@h:1/d"),
        ("postgres:///d", "postgresql+psycopg:///d"),
        ("postgresql+psycopg://h/d?sslmode=require", "postgresql+psycopg://h/d?sslmode=require"),
    ],
)
def test_urls(given: str, expected: str) -> None:
    assert database_url(given).render_as_string(hide_password=False) == expected


@pytest.mark.parametrize(
    "given",
    [
        *("", " ", "a\0b", "sqlite://", "sqlite:///:memory:", "sqlite:////a?mode=ro"),
        *("postgresql://h:port/d", "://", "postgresql+asyncpg://h/d", "mysql://h/d", "http://h/d"),
    ],
)
def test_bad_urls(given: str) -> None:
    with pytest.raises(ConfigError):
        database_url(given)


def test_passwords_are_not_shown(postgresql: PostgresqlServer) -> None:
    url = "postgresql://someone:hush@/nothing?host=/nonexistent"
    with pytest.raises(StorageError, match=r"someone:\*\*\*@.* cannot be reached") as error:
        ServerStore(url)
    assert "hush" not in str(error.value)
    with pytest.raises(ConfigError) as bad:
        database_url("postgresql://someone:hush@host:port/name")
    assert "hush" not in str(bad.value)


def test_a_new_file_is_private(path: Path) -> None:
    with ServerStore(str(path)) as store:
        store.charge(None, 1)
        modes = {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
    assert modes == {0o600}


def test_what_need_not_be_made_is_not_made(path: Path) -> None:
    with pytest.raises(SavedError, match="no such database"):
        ServerStore(str(path), create=False)
    assert not path.exists()


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=f"no directory {tmp_path / 'a'}; make it"):
        ServerStore(str(tmp_path / "a" / "server.sqlite"))
    assert not (tmp_path / "a").exists()


def test_a_place_where_nothing_can_be_made() -> None:
    with pytest.raises(StorageError, match="choose another"):
        ServerStore("/proc/server.sqlite")


def test_something_else_than_a_file(tmp_path: Path) -> None:
    with pytest.raises(SavedError, match="not a file"):
        ServerStore(str(tmp_path))


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(SavedError, match=r"damaged, or not an SQLite database; restore"):
        ServerStore(str(path))
    assert path.read_bytes() == content


def test_a_damaged_file(path: Path) -> None:
    with ServerStore(str(path)) as store:
        store.create_glossary("x", {("en", "de"): [("a", "b" * 10_000)]})
    content = path.read_bytes()
    path.write_bytes(content[:8192] + bytes(len(content) - 8192))
    with pytest.raises(SavedError, match="damaged"), ServerStore(str(path)) as store:
        store.create_key("x")
        store.glossaries()


def test_a_file_of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as session:
        session.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(SavedError, match="tables of another program, such as bookmarks"):
        ServerStore(str(path))
    assert path.read_bytes() == before


def test_a_database_that_others_write_to(opened: Database) -> None:
    with opened.writing("one") as session:
        session.execute(insert(Usage), USAGE)
        busy = pytest.raises(StorageError, match=r"others have been writing for 0\.05 seconds")
        with busy, opened.writing("one"):
            raise AssertionError("two wrote at a time")
        with opened.reading() as reader:  # readers do not wait
            assert reader.execute(select(Usage)).all() == []
    with opened.writing("one") as session:
        assert len(session.execute(select(Usage)).all()) == 1


def test_what_fails_is_undone(opened: Database) -> None:
    with pytest.raises(ZeroDivisionError), opened.writing() as session:
        session.execute(insert(Usage), USAGE)
        raise ZeroDivisionError
    with opened.reading() as session:
        assert session.execute(select(Usage)).all() == []


def test_a_full_disk(path: Path) -> None:
    ServerStore(str(path)).close()
    with closing(Database(str(path))) as opened, opened.reading() as session:
        session.execute(text("PRAGMA max_page_count = 1"))  # no more than there are
        full = pytest.raises(StorageError, match="the disk is full; free some space")
        with full, opened._explaining():
            session.execute(text("CREATE TABLE x AS SELECT hex(randomblob(100000)) AS y"))


def test_a_read_only_file(path: Path) -> None:
    ServerStore(str(path)).close()
    engine = create_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    with pytest.raises(DBAPIError) as error, engine.begin() as session:
        session.execute(insert(Usage), USAGE)
    engine.dispose()
    found = explained(error.value, str(path), 1)
    assert isinstance(found, StorageError)
    assert (
        str(found) == f"{path}: it is read-only; change its permissions or choose another database"
    )


def test_a_read_only_server(postgresql: PostgresqlServer) -> None:
    url = f"{postgresql.url()}&options=-cdefault_transaction_read_only%3Don"
    with pytest.raises(StorageError, match="read-only"):
        ServerStore(url)


def test_a_server_without_this_database(postgresql: PostgresqlServer) -> None:
    with pytest.raises(StorageError, match=r'cannot be reached: .*"nothing" does not exist'):
        ServerStore(postgresql.url("nothing"))


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_lost_connections_are_made_again(opened: Database) -> None:
    end = text("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(StorageError, match="cannot be reached"), opened.reading() as session:
        session.execute(end)
    with opened.reading() as session:
        assert session.execute(select(Usage)).all() == []


def test_a_database_that_was_taken_away(opened: Database) -> None:
    missing = pytest.raises(SavedError, match="tables or columns that it had are missing; restore")
    with missing, opened.reading() as session:
        session.execute(text("SELECT * FROM what_there_was"))


def test_mistakes_of_this_program_are_no_errors_of_storage(opened: Database) -> None:
    with pytest.raises(DBAPIError), opened.writing() as session:
        session.execute(insert(DocumentJob), {"id": "x"})


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'psycopg\[binary\]'"):
        Database("postgresql://h/d")


def test_an_old_sqlite(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(ConfigError, match=r"3\.35 or newer is needed"):
        Database(str(path))


@pytest.mark.parametrize("becomes", ["deleted", "replaced by another file"])
def test_a_file_that_is_taken_away_from_a_running_server_is_noticed(
    path: Path, becomes: str
) -> None:
    with ServerStore(str(path)) as store:
        store.charge(None, 1)
        kept = path.read_bytes()
        path.rename(path.with_name("elsewhere"))
        if becomes != "deleted":
            path.write_bytes(kept)
        said = f"{path}: was {becomes} while in use; stop"
        with pytest.raises(StorageError, match=said):
            store.charge(None, 1)
        with pytest.raises(StorageError, match=said):
            store.used(None)
        assert path.exists() == (becomes != "deleted")  # nothing was made in its place
        path.with_name("elsewhere").replace(path)
        assert store.used(None) == 1


def test_a_server_that_hangs_is_given_up_and_used_again(postgresql: PostgresqlServer) -> None:
    url = f"{postgresql.new_database()}&connect_timeout=2"
    with closing(Database(url, busy_seconds=0.1)) as opened:
        late = pytest.raises(StorageError, match=r"cannot be reached: no answer within 2\.1 sec")
        with late, opened.reading() as session, postgresql.hanging():
            session.execute(text("SELECT 1"))
        with opened.reading():
            pass  # so that there is a connection, which is tried first
        begun = time.monotonic()
        gone = pytest.raises(StorageError, match="cannot be reached")
        with gone, postgresql.hanging(), opened.reading():
            pass
        assert time.monotonic() - begun < 20
        with opened.reading() as session:
            assert session.execute(text("SELECT 1")).scalar() == 1


def test_an_upgrade_may_take_its_time(postgresql: PostgresqlServer) -> None:
    opened = Database(postgresql.new_database(), busy_seconds=0.1)
    with closing(opened), opened.writing(patient=True) as session:
        assert session.execute(text("SELECT 1 FROM pg_sleep(2.3)")).scalar() == 1


def test_a_server_that_accepts_and_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://user@127.0.0.1:{silent.getsockname()[1]}/any?connect_timeout=2"
        with closing(Database(address)) as opened:
            begun = time.monotonic()
            with pytest.raises(StorageError, match="cannot be reached"), opened.reading():
                pass
    assert time.monotonic() - begun < 10
