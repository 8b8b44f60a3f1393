"""Connections to the database: SQLite or PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import Session

from dragoman.core.errors import ConfigError, MissingExtraError, SavedError
from dragoman.core.files import make_directory, storage_errors, user_data_folder
from dragoman.server.database.failures import UnansweredError, explained, unopened

FILE_NAME = "server.sqlite"
"""Name of the database file in the user's data directory."""

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing."""

_POSTGRESQL = {"postgresql", "postgres", "postgresql+psycopg"}
_OLDEST_SQLITE = (3, 35)  # has RETURNING


def database_url(database: str | None) -> URL:
    """The URL of a database.

    Args:
        database: a URL as SQLAlchemy writes it, or the path of an SQLite file.  None: the file
            ``server.sqlite`` in the user's data directory.

    Raises:
        ConfigError: the URL is invalid, or of an unsupported kind of database.
    """
    if database is None:
        return URL.create("sqlite", database=str(user_data_folder() / FILE_NAME))
    if "://" not in database:
        if not database.strip() or "\0" in database:
            raise ConfigError("the database has an empty name; give a file or a URL")
        return URL.create("sqlite", database=os.path.abspath(os.path.expanduser(database)))
    try:
        url = make_url(database)
    except (ArgumentError, ValueError) as error:
        # The URL itself may hold a password.
        raise ConfigError(
            "the URL of the database cannot be read; expected a form such as "
            "postgresql://user:password@host:5432/name or sqlite:////folder/file"
        ) from error
    if url.drivername in _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername != "sqlite":
        raise ConfigError(
            f"{url.drivername}: not a database that is supported; use sqlite or postgresql"
        )
    if not url.database or url.database == ":memory:" or url.query:
        raise ConfigError(
            "an SQLite database is a file, without options: sqlite:////folder/file or just the path"
        )
    return url.set(database=os.path.abspath(url.database))


class Database:
    """A pool of connections to an SQLite file or a PostgreSQL server, for all threads.

    Raises:
        StorageError: the database cannot be opened, reached or written.
    """

    def __init__(
        self,
        database: str | None = None,
        *,
        busy_seconds: float = BUSY_SECONDS,
        create: bool = True,
    ) -> None:
        self.url = database_url(database)
        self.busy_seconds = busy_seconds
        if self.is_sqlite:
            assert self.url.database
            path = Path(self.url.database)
            if database is None and create:
                make_directory(path.parent, path)
            with storage_errors(path):
                _find_file(path, create)
                self._file = _identity(path)
            self._engine = _sqlite_engine(self.url, busy_seconds)
        else:
            self._engine = _postgresql_engine(self.url, busy_seconds)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is an SQLite file."""
        return self.url.drivername == "sqlite"

    @property
    def name(self) -> str:
        """The path of the file, or the URL without its password."""
        return str(self.url.database) if self.is_sqlite else self.url.render_as_string()

    def let_read_while_writing(self) -> None:
        """Let readers of an SQLite file not wait for a writer, as in PostgreSQL.

        This changes the file, which must be known to be ours (https://sqlite.org/wal.html).
        """
        if not self.is_sqlite:
            return
        file = sqlite3.connect(str(self.url.database), timeout=self.busy_seconds)
        # If another process is using the file, that process or the next start does this.
        with closing(file), suppress(sqlite3.OperationalError):
            file.execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that changes nothing."""
        self._check_file()
        with self._explaining(), self._engine.begin() as connection, Session(connection) as session:
            yield session

    @contextmanager
    def writing(
        self, alone: str | None = None, *, durable: bool = True, patient: bool = False
    ) -> Iterator[Session]:
        """A transaction that is committed if the block succeeds.

        Args:
            alone: a name; transactions of the same name exclude each other, in all processes.
                (In SQLite, writing transactions exclude each other anyway.)
            durable: whether to wait for the disk, so that even a power failure loses nothing.
            patient: whether a statement may take any time, such as those of an upgrade.
        """
        self._check_file()
        engine = self._engine.execution_options(
            dragoman_writes=True, dragoman_durable=durable, dragoman_patient=patient
        )
        with self._explaining(), engine.begin() as connection, Session(connection) as session:
            if not self.is_sqlite:
                if not durable:
                    connection.execute(text("SET LOCAL synchronous_commit = off"))
                if alone is not None:
                    connection.execute(
                        text("SELECT pg_advisory_xact_lock(:number)"), {"number": _number(alone)}
                    )
            yield session
            session.flush()

    def _check_file(self) -> None:
        """Check that the file is still the same, as connections would write to a deleted file."""
        if not self.is_sqlite:
            return
        try:
            found = _identity(Path(self.name))
        except OSError:
            found = None
        if found != self._file:
            happened = "was deleted" if found is None else "was replaced by another file"
            raise UnansweredError(
                f"{self.name}: {happened} while in use; stop all servers that use it, restore it "
                "from a backup if it is not the right one, and start them again"
            )

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            found = explained(error, self.name, self.busy_seconds)
            if found is None:
                raise
            raise found from error


def _number(name: str) -> int:
    """The number of a PostgreSQL lock, unlikely to be used by another program."""
    return int.from_bytes(sha256(f"dragoman {name}".encode()).digest()[:8], "big", signed=True)


def _find_file(path: Path, create: bool) -> None:
    """Create a missing file with access for its owner only; SQLite's journals copy its mode.

    Raises:
        OSError: access is not permitted.
        SavedError: the file is missing and not to be created, or is not a regular file.
        StorageError: the file cannot be created.
    """
    if path.exists():
        if not path.is_file():
            raise SavedError(f"{path}: not a file; name an SQLite database, or a file to be made")
        return
    if not create:
        raise SavedError(
            f"{path}: no such database; 'dragoman serve' and 'dragoman keys add' make one"
        )
    if not path.parent.is_dir():
        raise unopened(str(path), f"there is no directory {path.parent}; make it")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except FileNotFoundError as error:  # below /proc, or in a removed directory
        raise unopened(str(path), "nothing can be made there") from error


def _identity(path: Path) -> tuple[int, int]:
    """Numbers that distinguish a file from another of the same name."""
    found = path.stat()
    return found.st_dev, found.st_ino


def _sqlite_engine(url: URL, busy_seconds: float) -> Engine:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise ConfigError(
            f"Python has SQLite {sqlite3.sqlite_version}, and {'.'.join(map(str, _OLDEST_SQLITE))} "
            "or newer is needed; use another Python, or PostgreSQL"
        )
    engine = create_engine(url, connect_args={"timeout": busy_seconds})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not by Python's rules
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")  # deleted documents are overwritten
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        writes = options.get("dragoman_writes", False)
        if writes:
            level = "FULL" if options["dragoman_durable"] else "NORMAL"
            connection.exec_driver_sql(f"PRAGMA synchronous = {level}")
        # A transaction that reads before it writes could be refused immediately, without waiting.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql_engine(url: URL, busy_seconds: float) -> Engine:
    try:
        from dragoman.server.database.postgresql import postgresql_engine

        return postgresql_engine(url, busy_seconds)
    except ModuleNotFoundError as error:
        raise MissingExtraError.of("psycopg", "psycopg[binary]") from error
