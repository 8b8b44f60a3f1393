"""Connections of clients that are slow, and of more clients than there is room for."""

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
"""How often to look whether a client fetches what it is sent: if it does not, it is left at the
second look."""
FLUSH_BYTES = 1 << 16
"""What a client must fetch of it from look to look."""
MOST_LOOKS = 8
"""How many connections are looked at for one that can be closed."""


class OpenConnections:
    """The connections of a server, of which there are never too many.

    With one too many, the one is closed that has waited longest for a request: idle ones, and those
    whose clients do not finish what they began.

    Args:
        most: how many may be open.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[PatientProtocol] = set()
        self._waiting: dict[PatientProtocol, None] = {}  # that which waits longest comes first

    @property
    def is_crowded(self) -> bool:
        """Whether three quarters of what may be open are."""
        return 4 * len(self._open) > 3 * self._most

    def add(self, connection: PatientProtocol) -> None:
        """One is open, and waits for its first request."""
        self._open.add(connection)
        self.wait(connection)
        if len(self._open) > self._most:
            self._close_one()

    def wait(self, connection: PatientProtocol) -> None:
        """One waits for its next request."""
        self._waiting.pop(connection, None)
        if connection in self._open:
            self._waiting[connection] = None

    def work(self, connection: PatientProtocol) -> None:
        """One has a request that is not answered yet."""
        self._waiting.pop(connection, None)

    def remove(self, connection: PatientProtocol) -> None:
        """One is closed."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def _close_one(self) -> None:
        """Close the one that waits longest, unless its request has come and is not read yet.

        Of those whose requests have come, which free their connections soon, only some are looked
        at, so that a crowd of them may exceed the bound for a moment.
        """
        for connection in list(islice(self._waiting, MOST_LOOKS)):
            if not connection.has_unread():
                self.remove(connection)
                connection.transport.abort()
                return
            self.wait(connection)


class PatientProtocol(H11Protocol):
    """Uvicorn's protocol for clients that never finish: they are left after some seconds.

    Its own bound is for the pause after an answer only: a client that connects and says nothing, or
    a byte from time to time, would be waited for without end.  So would one that does not read its
    answer, whose connection closes only when the last byte is sent.

    Args:
        admission: turns away requests for which there is no place.
        all_open: the connections of the server.
        arguments: Uvicorn's.
    """

    _head: asyncio.TimerHandle | None = None
    _look: asyncio.TimerHandle | None = None
    _unsent: int | None = None  # bytes at the last look, if they were waiting to be fetched

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
        """A client has connected."""
        super().connection_made(transport)
        self._await_head()
        self._look_later()
        self._all_open.add(self)

    def data_received(self, data: bytes) -> None:
        """A client has sent something."""
        # Of the requests that have just come, admission control has not seen any yet.
        if len(self.tasks) >= self._admission.places and self._turn_away(data):
            return
        super().data_received(data)
        if self._is_answering:
            self._forget_head()
            self._all_open.work(self)
        elif self._head is None and self.timeout_keep_alive_task is None:
            self._await_head()

    def on_response_complete(self) -> None:
        """A client has its answer."""
        self._forget_head()
        super().on_response_complete()
        if not self._is_answering:  # as it is if the next request has come already
            self._all_open.wait(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has left."""
        self._all_open.remove(self)
        self._forget_head()
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """A client has fetched nearly all that it was sent so far."""
        self._unsent = None
        super().resume_writing()

    def has_unread(self) -> bool:
        """Whether something has come from the client that was not looked at."""
        with DefaultSelector() as selector:
            selector.register(self.transport.get_extra_info("socket").fileno(), EVENT_READ)
            return bool(selector.select(0))

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _turn_away(self, data: bytes) -> bool:
        """Whether these bytes are a whole request that is refused herewith."""
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
        """Leave a client that has fetched next to nothing since the last look."""
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
