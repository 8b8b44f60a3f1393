"""Limits on connections: slow clients, and too many clients."""

from __future__ import annotations

import asyncio
from itertools import islice
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.server.admission import AdmissionControl

HEADER_SECONDS = 15.0
"""How long a client may take to send the head of a request."""
FLUSH_SECONDS = 60.0
"""Seconds between checks that a client reads its answer; if it does not, the second check closes
the connection."""
FLUSH_BYTES = 1 << 16
"""Bytes that a client must read between two checks."""
MOST_LOOKS = 8
"""Maximum number of connections to examine for one that can be closed."""


class OpenConnections:
    """The open connections of a server, limited in number.

    Above the limit, the connection is closed that has waited longest for a request: an idle
    connection, or that of a client that does not finish its request.

    Args:
        most: maximum number of open connections.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[PatientProtocol] = set()
        self._waiting: dict[PatientProtocol, None] = {}  # the longest waiting first

    @property
    def is_crowded(self) -> bool:
        """Whether at least three quarters of the allowed connections are open."""
        return 4 * len(self._open) > 3 * self._most

    def add(self, connection: PatientProtocol) -> None:
        """Add a new connection, which waits for its first request."""
        self._open.add(connection)
        self.wait(connection)
        if len(self._open) > self._most:
            self._close_one()

    def wait(self, connection: PatientProtocol) -> None:
        """Note that a connection waits for its next request."""
        self._waiting.pop(connection, None)
        if connection in self._open:
            self._waiting[connection] = None

    def work(self, connection: PatientProtocol) -> None:
        """Note that a connection has an unanswered request."""
        self._waiting.pop(connection, None)

    def remove(self, connection: PatientProtocol) -> None:
        """Remove a closed connection."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def _close_one(self) -> None:
        """Close the longest waiting connection without unread data.

        Connections with unread data are skipped, as they are free soon.  Only some are examined,
        so a crowd of these may exceed the limit for a moment.
        """
        for connection in list(islice(self._waiting, MOST_LOOKS)):
            if not connection.has_unread():
                self.remove(connection)
                connection.transport.abort()
                return
            self.wait(connection)


class PatientProtocol(H11Protocol):
    """Uvicorn's protocol, which also disconnects clients that never finish.

    Uvicorn's own time limit is only for the pause after an answer.  It would wait without end for a
    client that sends nothing after connecting, or a byte from time to time, and for a client that
    does not read its answer, as the connection closes only when the last byte is sent.

    Args:
        admission: refuses requests when all places are taken.
        all_open: the connections of the server.
        arguments: Uvicorn's.
    """

    _head: asyncio.TimerHandle | None = None
    _look: asyncio.TimerHandle | None = None
    _unsent: int | None = None  # bytes in the buffer at the last check, if any

    def __init__(
        self,
        *arguments: Any,
        admission: AdmissionControl,
        all_open: OpenConnections,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._admission, self._all_open = admission, all_open

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limits of a new connection."""
        super().connection_made(transport)
        self._await_head()
        self._look_later()
        self._all_open.add(self)

    def data_received(self, data: bytes) -> None:
        """Refuse a request when all places are taken, or parse it."""
        # Admission control has not seen the requests yet that have just arrived.
        if len(self.tasks) >= self._admission.places and self._turn_away(data):
            return
        super().data_received(data)
        if self._is_answering:
            self._forget_head()
            self._all_open.work(self)
        elif self._head is None and self.timeout_keep_alive_task is None:
            self._await_head()

    def on_response_complete(self) -> None:
        """Wait for the next request after an answer."""
        self._forget_head()
        super().on_response_complete()
        if not self._is_answering:  # it is, if the next request has already arrived
            self._all_open.wait(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a closed connection."""
        self._all_open.remove(self)
        self._forget_head()
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Stop checking a client that has read nearly everything so far."""
        self._unsent = None
        super().resume_writing()

    def has_unread(self) -> bool:
        """Whether data from the client are still unread."""
        with DefaultSelector() as selector:
            selector.register(self.transport.get_extra_info("socket").fileno(), EVENT_READ)
            return bool(selector.select(0))

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _turn_away(self, data: bytes) -> bool:
        """Refuse the request if the data are exactly one; whether it was refused."""
        states = {self.conn.our_state, self.conn.their_state}
        is_first = states == {h11.IDLE} and not self.conn.trailing_data[0]
        if not is_first or self.flow.write_paused or self.transport.is_closing():
            return False
        is_last = self._all_open.is_crowded
        refusal = self._admission.refusal(data, is_last=is_last)
        if refusal is None:
            return False
        self.transport.write(refusal)
        self.on_response_complete()
        if is_last:
            self.transport.close()
        return True

    def _look_later(self) -> None:
        self._look = self.loop.call_later(FLUSH_SECONDS, self._leave_if_unread)

    def _leave_if_unread(self) -> None:
        """Disconnect a client that has read next to nothing since the last check."""
        before, self._unsent = self._unsent, None
        if self.flow.write_paused or self.transport.is_closing():
            self._unsent = self.transport.get_write_buffer_size()
            if before is not None and before - self._unsent < FLUSH_BYTES:
                self.transport.abort()
                return
        self._look_later()

    def _await_head(self) -> None:
        self._head = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
