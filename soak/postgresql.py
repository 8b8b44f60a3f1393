"""A real PostgreSQL server, of this machine's own programs, for as long as somebody needs it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
_USER = "postgres"  # it refuses to run as root
_SECONDS = 60


class NoPostgresqlError(Exception):
    """PostgreSQL cannot be started here; the message says why."""


class PostgresqlServer:
    """A server that listens on a socket in a directory, and on no port.

    Args:
        folder: where the socket is.
        process: number of the process that starts all others of the server.
    """

    def __init__(self, folder: Path, process: int) -> None:
        self._folder, self._process = folder, process
        self._schemas = 0

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Stop all of its processes, as on a machine that hangs: connections stay, and are silent.

        Linux only.
        """
        # The first process last, which could start others: it goes on to accept connections.
        everyone = [*_children(self._process), self._process]
        for one in everyone:
            os.kill(one, signal.SIGSTOP)
        try:
            yield
        finally:
            for one in everyone:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGCONT)

    def url(self, database: str = "postgres") -> str:
        """The URL of a database."""
        return f"postgresql://{_USER}@/{database}?host={self._folder}"

    def new_database(self) -> str:
        """The URL of an empty one: a schema of its own, which is quicker to make."""
        import psycopg

        self._schemas += 1
        name = f"schema_{self._schemas}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url()}&options=-csearch_path%3D{name}"


@contextmanager
def postgresql_server() -> Iterator[PostgresqlServer]:
    """Start a server.

    Raises:
        NoPostgresqlError: its programs or psycopg are not installed, or must not run here.
    """
    if find_spec("psycopg") is None:
        raise NoPostgresqlError("psycopg is not installed")
    programs = _programs()
    # Not pytest's directory, whose parents another user may not enter; and short, as sockets must.
    folder = Path(tempfile.mkdtemp(prefix="dragoman-pg-", dir="/tmp"))
    prefix = _become(folder)
    data = str(folder / "data")
    try:
        initialise = [str(programs / "initdb"), "-D", data, "-U", _USER, "-A", "trust", "--no-sync"]
        made = subprocess.run(
            [*prefix, *initialise, "--no-instructions", "-E", "UTF8", "--locale=C"],
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        options = {
            "listen_addresses": "",
            "unix_socket_directories": folder,
            "fsync": "off",
            "shared_buffers": "16MB",
            "max_connections": "60",
            "autovacuum": "off",
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [*prefix, programs / "postgres", "-D", data, *settings],
                stdout=log,
                stderr=log,
                cwd=folder,
            )
        try:
            _wait(server, folder)
            yield PostgresqlServer(folder, server.pid)
        finally:
            server.send_signal(signal.SIGINT)  # with SIGTERM it would wait for its clients
            try:
                server.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()  # its other processes notice, and end
                server.wait()
    finally:
        shutil.rmtree(folder)


def _children(process: int) -> list[int]:
    """Processes that a process has started."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text("ascii")
    return [int(one) for one in text.split()]


def _programs() -> Path:
    """The directory of the server's programs, which need not be on the path."""
    found = [place for pattern in _PLACES for place in Path("/").glob(pattern[1:])]
    if on_path := shutil.which("initdb"):
        found.append(Path(on_path).parent)
    for place in sorted(found, reverse=True):
        if (place / "initdb").is_file() and (place / "postgres").is_file():
            return place
    raise NoPostgresqlError("PostgreSQL is not installed: no initdb in the usual places")


def _become(folder: Path) -> list[str]:
    """How to run a program as a user who is not root, who gets the folder."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        raise NoPostgresqlError("PostgreSQL refuses to run as root, and there is no setpriv")
    try:
        user = pwd.getpwnam(_USER)
    except KeyError:
        user = pwd.getpwnam("nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    # exec: signals reach the server itself.
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _wait(server: subprocess.Popen[bytes], folder: Path) -> None:
    import psycopg

    url = f"postgresql://{_USER}@/postgres?host={folder}"
    end = time.monotonic() + _SECONDS
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            assert server.poll() is None, (folder / "log").read_text(errors="replace")
            assert time.monotonic() < end, "PostgreSQL does not begin to answer"
            time.sleep(0.02)
