"""Admission control: limits concurrent requests; answers 503 when full.

A regular refusal costs the server a third of an answer: the request is parsed, routed, logged and
answered like any other.  At twice its capacity, a server would spend on refusals the time that
answers need.  So an ordinary small request is refused by its bytes, as they arrive.  Only a request
that needs more of HTTP gets a regular refusal.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import anyio
from starlette.responses import Response

from dragoman.server.readiness import Readiness
from dragoman.server.request_log import COMMON_HEADERS, AnsweredRequest, number_of_request
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
