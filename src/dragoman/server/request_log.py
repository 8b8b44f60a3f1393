"""The head of each request, made regular, and its number, log line and metrics.

Neither texts nor keys are logged: of a URL only the path, not the query string.
"""

from __future__ import annotations

import json
import logging
import random
import re
import sys
import time
from collections.abc import Iterable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.core import tracing
from dragoman.server.monitoring import AnsweredRequest, Monitoring, Readiness

_ABSOLUTE = re.compile(
    rb"https?://(?:[^/?#@]*@)?(?P<host>[^/?#@]+)(?P<path>/.*)?", re.IGNORECASE | re.DOTALL
)
"""A target that includes the server, from clients that treat this server as a proxy (RFC 9112,
section 3.2.2)."""
_SLASHES = re.compile(b"//+")


class RequestHead:
    """Middleware that gives each request a path with one leading slash, and one body length.

    Many clients make ``//translate`` from a base address that ends in a slash.  In a request with
    both ``Content-Length`` and ``Transfer-Encoding``, the latter counts, and the connection closes
    after the answer, as a proxy in front may have read it differently (RFC 9112, section 6.3).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        names = {name for name, _ in scope["headers"]}
        if {b"content-length", b"transfer-encoding"} <= names:
            headers = [header for header in scope["headers"] if header[0] != b"content-length"]
            scope, send = {**scope, "headers": headers}, _closing(send)
        await self._app({**scope, **_usual_target(scope)}, receive, send)


def _usual_target(scope: Scope) -> dict[str, Any]:
    """The values of a scope that change in the usual form."""
    raw: bytes = scope["raw_path"]
    changed: dict[str, Any] = {}
    if (absolute := _ABSOLUTE.fullmatch(raw)) is not None:
        raw = absolute["path"] or b"/"
        others = [header for header in scope["headers"] if header[0] != b"host"]
        changed["headers"] = [(b"host", absolute["host"]), *others]
    raw = _SLASHES.sub(b"/", raw)
    if raw != scope["raw_path"]:
        changed |= {"raw_path": raw, "path": unquote(raw.decode("latin-1"))}
    return changed


def _closing(send: Send) -> Send:
    """A ``send`` that closes the connection after the answer."""

    async def send_and_close(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Connection"] = "close"
        await send(message)

    return send_and_close


ACCESS = "dragoman.access"
"""The logger of requests."""
CLIENT_GONE = 499
"""Status in the log and the metrics if the client left before the answer."""

HEAD = "dragoman.head"
"""Key in the scope of a HEAD request, which is handled as a GET but answered without a body."""

request_number: ContextVar[str] = ContextVar("request_number", default="")
"""The number of the current request, which the client gets in ``X-Request-ID``."""

_GIVEN_NUMBER = re.compile(r"[\w.:-]{1,64}", re.ASCII)
COMMON_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Sent with every response that does not set them otherwise."""


class RequestLog:
    """Middleware that numbers, counts and logs requests, and adds the headers of every response.

    While the server drains, clients are made to open new connections, which reach another server.
    """

    def __init__(self, app: ASGIApp, monitoring: Monitoring, readiness: Readiness) -> None:
        self._app, self._monitoring, self._readiness = app, monitoring, readiness
        self._log = logging.getLogger(ACCESS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = number_of_request(scope["headers"])
        token = request_number.set(number)
        method, path = scope["method"], scope["path"]
        if method == "HEAD":  # the server leaves out the body
            scope = {**scope, "method": "GET", HEAD: True}
        status, begin = CLIENT_GONE, time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = number
                if self._readiness.is_draining:
                    headers["Connection"] = "close"
                for name, value in COMMON_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        self._monitoring.begin()
        try:
            with tracing.request_span(method, scope["headers"]) as span:
                try:
                    await self._app(scope, receive, send_with_headers)
                finally:
                    tracing.answered(span, method, _route(scope), status, number)
        finally:
            template = _route(scope)
            client = (scope.get("client") or ("",))[0]
            seconds = time.perf_counter() - begin
            answered = AnsweredRequest(method, path, template, status, seconds, client)
            self._monitoring.record(answered)
            self._log.info(
                "%s %s %d %.0f ms %s",
                *(method, _printable(path), status, 1000 * seconds, client),
                extra={"request": answered},
            )
            request_number.reset(token)


def _route(scope: Scope) -> str | None:
    """The path of the route that answered; None without a route."""
    return getattr(scope.get("route"), "path", None)


def number_of_request(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The number of a request, from a proxy if valid, otherwise new.

    Names of headers are in lower case.
    """
    for name, value in headers:
        if name == b"x-request-id" and _GIVEN_NUMBER.fullmatch(given := value.decode("latin-1")):
            return str(given)
    # Not from the system, as a system call may have to wait for another thread that translates.
    return f"{random.getrandbits(64):016x}"


def _printable(path: str) -> str:
    """A path in a form that cannot forge log lines."""
    return ascii(path[:200])[1:-1]


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        number = request_number.get()
        self._style._fmt = "dragoman: %(asctime)s %(levelname)s %(message)s" + (
            f" [{number}]" if number else ""
        )
        return super().format(record)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if number := request_number.get():
            line["request_id"] = number
        if isinstance(request := getattr(record, "request", None), AnsweredRequest):
            line |= {
                "method": request.method,
                "path": request.path,
                "status": request.status,
                "milliseconds": round(1000 * request.seconds, 1),
                "client": request.client,
            }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_standard_error(form: Literal["plain", "json"], level: int = logging.INFO) -> None:
    """Write all log messages of this process to standard error: lines to read, or JSON objects."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Plain())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("dragoman").setLevel(level)
