"""Admission control: limits requests and connections; answers 503 when full.

A regular refusal costs the server a third of an answer: the request is parsed, routed, logged and
answered like any other.  At twice its capacity, a server would spend on refusals the time that
answers need.  So an ordinary small request is refused by its bytes, as they arrive.  Only a request
that needs more of HTTP gets a regular refusal.
"""

from __future__ import annotations

import asyncio
import logging
import re
import selectors
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import anyio
import h11
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.server.monitoring import AnsweredRequest, Readiness
from dragoman.server.request_log import COMMON_HEADERS, number_of_request
from dragoman.translation.service.interface import RefusedError

log = logging.getLogger(__name__)

BUSY_STATUS = 503
RETRY_SECONDS = 2
SUMMARY_SECONDS = 1.0
"""Seconds between log lines with the number of refused requests."""
ENDING_SECONDS = 5.0
"""Seconds after which clients may repeat a request that an ending server did not finish."""

Refuse = Callable[[str, RefusedError, int], Response]
"""Makes the response that refuses a request for a path, with a status."""

_METHODS = b"GET|POST|PUT|PATCH|DELETE"
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PATH = rb"/(?!/)(?:/(?!/)|[!-$&-.0->@-~])*"  # a path with % or several slashes may mean another
_HEAD = re.compile(
    rb"(%b) (%b)(?:\?[!-~]*)? HTTP/1\.1\r\n((?:%b:[ \t!-~\x80-\xff]*\r\n)+)\r\n"
    % (_METHODS, _PATH, _TOKEN)
)
_LENGTH = re.compile(rb"[0-9]{1,20}")
_NEEDS_MORE = {b"expect", b"origin", b"transfer-encoding", b"upgrade"}
"""Headers of requests that are not refused by their bytes: with ``Origin``, the refusal needs CORS
headers; the others announce more data."""


class AdmissionControl:
    """Counts requests in and out, and refuses requests when all places are taken.

    Args:
        places: maximum number of requests at work or waiting.
        refuse: makes refusals.
        unbounded: paths that are always answered.
        record: receives each request that was refused by its bytes.
        readiness: once it drains, nothing is refused by bytes, as each answer then closes its
            connection.
    """

    def __init__(
        self,
        places: int,
        refuse: Refuse,
        unbounded: Collection[str] = (),
        record: Callable[[AnsweredRequest], object] = lambda request: None,
        readiness: Readiness | None = None,
    ) -> None:
        self.places, self._refuse, self._record = places, refuse, record
        self._readiness = readiness or Readiness()
        self._unbounded = frozenset(unbounded)
        self._inside: set[anyio.CancelScope] = set()
        self._refused = 0
        self.is_closed = False
        """Whether the server is ending and the time of all requests is up."""
        text = f"{places} requests are at work or waiting already; try again later"
        self.error = RefusedError("busy", text, RETRY_SECONDS)
        """The refusal when all places are taken."""
        text = "the server is stopping and could not finish this request; send it again later"
        self.ending_error = RefusedError("busy", text, ENDING_SECONDS)
        """The refusal of requests in progress when admission closes."""

    def admits(self, path: str) -> bool:
        """Whether a request for a path may enter now."""
        return len(self._inside) < self.places or path in self._unbounded

    @contextmanager
    def inside(self) -> Iterator[anyio.CancelScope]:
        """Hold a place for a request; yields the scope of its work, cancelled by :meth:`close`."""
        work = anyio.CancelScope()
        if self.is_closed:
            work.cancel()
        self._inside.add(work)
        try:
            yield work
        finally:
            self._inside.discard(work)

    def close(self) -> None:
        """Cancel the work on all requests, which are then refused."""
        self.is_closed = True
        if self._inside:
            text = "the time to stop is up: %d requests in progress are refused"
            log.warning(text, len(self._inside))
        for work in list(self._inside):
            work.cancel()

    def refusal(self, data: bytes, *, is_last: bool = False) -> bytes | None:
        """The bytes that refuse a request when all places are taken.

        Args:
            data: everything that the client has sent since its last answer.
            is_last: whether the connection will be closed; otherwise the client may send its next
                request on it.

        Returns:
            The whole answer; None unless the data are exactly one complete, ordinary request.
        """
        if self._readiness.is_draining:
            return None
        found = _whole_request(data)
        if found is None:
            return None
        method, path, headers = found
        if path in self._unbounded:
            return None
        response = self._refuse(path, self.error, BUSY_STATUS)
        response.headers["X-Request-ID"] = number_of_request(headers)
        response.headers["Vary"] = "Origin"  # with an origin, the answer has more headers
        for name, value in COMMON_HEADERS.items():
            response.headers.setdefault(name, value)
        if is_last:
            response.headers["Connection"] = "close"
        self._record(AnsweredRequest(method, path, None, response.status_code, 0.0, ""))
        self._count()
        lines = (b"%b: %b\r\n" % header for header in response.raw_headers)
        first = b"HTTP/1.1 %d Service Unavailable\r\n" % response.status_code
        return b"".join([first, *lines, b"\r\n", bytes(response.body)])

    def _count(self) -> None:
        """Count a refusal: a log line for each would cost more than it, and could fill a disk."""
        if not self._refused:
            asyncio.get_running_loop().call_later(SUMMARY_SECONDS, self._tell)
        self._refused += 1

    def _tell(self) -> None:
        refused, self._refused = self._refused, 0
        text = "%d more requests were refused in %g s: all %d places are taken"
        log.warning(text, refused, SUMMARY_SECONDS, self.places)


def _whole_request(data: bytes) -> tuple[str, str, list[tuple[bytes, bytes]]] | None:
    """Method, path and headers, if the data are exactly one request with its body."""
    head = _HEAD.match(data)
    if head is None:
        return None
    method, path, lines = head.groups()
    headers = []
    for line in lines[:-2].split(b"\r\n"):
        name, _, value = line.partition(b":")
        headers.append((name.lower(), value.strip()))
    given = dict(headers)
    is_plain = len(given) == len(headers) and b"host" in given and _NEEDS_MORE.isdisjoint(given)
    if not is_plain or given.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    length = given.get(b"content-length", b"0")
    if not _LENGTH.fullmatch(length) or int(length) != len(data) - head.end():
        return None
    return method.decode("ascii"), path.decode("ascii"), headers


HEADER_SECONDS = 15.0
"""How long a client may take to send the head of a request."""
FLUSH_SECONDS = 60.0
"""Seconds between checks that a client reads its answer; if it does not, the second check closes
the connection."""
FLUSH_BYTES = 1 << 16
"""Bytes that a client must read between two checks."""
_LookSelector: type[selectors.BaseSelector] = getattr(
    selectors, "PollSelector", selectors.SelectSelector
)
"""Needs no file descriptor, unlike the default one: it looks just when they may have run out."""
MOST_LOOKS = 8
"""Maximum number of connections to examine for one that can be closed."""


class OpenConnections:
    """The open connections of a server, limited in number.

    Above the limit, the connection is closed that has waited longest for a request: an idle
    connection, or that of a client that does not finish its request.
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
        with _LookSelector() as selector:
            socket = self.transport.get_extra_info("socket")
            selector.register(socket.fileno(), selectors.EVENT_READ)
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
