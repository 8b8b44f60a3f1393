"""The same tests run against SQLite and PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from dragoman.server.database import StoreLimits
from dragoman.server.database.database_engine import Database
from dragoman.server.database.records import Record
from dragoman.server.database.server_store import ServerStore
from soak.postgresql import NoPostgresqlError, PostgresqlServer, postgresql_server

KINDS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    try:
        with postgresql_server() as server:
            yield server
    except NoPostgresqlError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Any], str]:
    """Upgraded databases without rows, each made once: upgrading takes a tenth of a second."""
    known: dict[str, str] = {}

    def make(kind: str, request: pytest.FixtureRequest) -> str:
        if kind not in known:
            known[kind] = (
                str(tmp_path_factory.mktemp("databases") / "server.sqlite")
                if kind == "sqlite"
                else request.getfixturevalue("postgresql").new_database()
            )
            ServerStore(known[kind]).close()
        return known[kind]

    return make


@pytest.fixture(params=KINDS)
def database(
    request: pytest.FixtureRequest, made: Callable[[str, Any], str], tmp_path: Path
) -> str:
    """A database without rows."""
    found = made(request.param, request)
    if request.param == "sqlite":
        return shutil.copy(found, str(tmp_path / "server.sqlite"))
    opened = Database(found)
    with opened.writing() as session:
        names = ", ".join(Record.metadata.tables)
        session.execute(text(f"TRUNCATE {names} RESTART IDENTITY CASCADE"))
    opened.close()
    return found


@pytest.fixture(params=KINDS)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables."""
    if request.param == "sqlite":
        return str(tmp_path / "server.sqlite")
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.new_database()


@pytest.fixture
def open_store(database: str) -> Iterator[Callable[..., ServerStore]]:
    """Opens the database, as often as wanted."""
    opened = []

    def open_it(**limits: int) -> ServerStore:
        opened.append(ServerStore(database, StoreLimits(**limits)))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., ServerStore]) -> ServerStore:
    return open_store()
