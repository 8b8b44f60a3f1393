"""Connections to a PostgreSQL server that never wait for it indefinitely."""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any, TypeVar

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event

CONNECT_SECONDS = 5
"""How long a server may take to accept a connection, unless the URL sets another time."""
ANSWER_SECONDS = 2.0
"""How long a server may take for a statement, in addition to waiting for other transactions."""

_HANGING_MS = 30_000  # until a server that does not even acknowledge packets counts as gone

_Result = TypeVar("_Result")


class PunctualConnection(psycopg.Connection[Any]):
    """A connection that ends when the server does not answer in time.

    The server's ``statement_timeout`` does not help if the server is stopped, or its machine hangs
    while the kernel still acknowledges packets.  So the client has to watch the clock.
    """

    answer_seconds: float | None = None
    """How long a statement may take; None: any time."""

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Wait for the server; psycopg expresses the waiting as a generator.

        Raises:
            psycopg.OperationalError: the time is up, and the connection is closed.
        """
        if self.answer_seconds is None:
            return super().wait(gen, *arguments, **options)
        try:
            return super().wait(_punctual(gen, self.answer_seconds), *arguments, **options)
        except _SilentError as error:
            self.close()
            said = f"no answer within {self.answer_seconds:g} seconds"
            raise psycopg.OperationalError(said) from error


class _SilentError(Exception):
    """The server has not answered in time."""


def _punctual(
    waiting: Generator[Any, Any, _Result], seconds: float
) -> Generator[Any, Any, _Result]:
    """The same steps, within a time limit; psycopg takes a step at least every 0.1 s."""
    end = monotonic() + seconds
    try:
        step = next(waiting)
        while True:
            ready = yield step
            if monotonic() > end:
                raise _SilentError
            step = waiting.send(ready)
    except StopIteration as stop:
        result: _Result = stop.value
        return result


def postgresql_engine(url: URL, busy_seconds: float) -> Engine:
    """A pool of connections.

    The options of the URL are libpq's.
    """
    given = {"connect_timeout": str(CONNECT_SECONDS), "tcp_user_timeout": str(_HANGING_MS)}
    wanted = {name: value for name, value in given.items() if name not in url.query}
    engine = create_engine(url, connect_args=wanted, pool_pre_ping=True, pool_timeout=busy_seconds)

    @event.listens_for(engine, "do_connect")
    def connect(_: Any, __: Any, arguments: Any, options: Any) -> PunctualConnection:
        made = PunctualConnection.connect(*arguments, **options)
        made.answer_seconds = busy_seconds + ANSWER_SECONDS
        return made

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.execute(f"SET lock_timeout = {round(busy_seconds * 1000)}")
        connection.execute("SET TIME ZONE 'UTC'")
        connection.commit()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        is_patient = connection.get_execution_options().get("dragoman_patient", False)
        driver: Any = connection.connection.driver_connection
        driver.answer_seconds = None if is_patient else busy_seconds + ANSWER_SECONDS

    return engine
