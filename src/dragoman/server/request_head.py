"""Normalises unusual heads of requests, before all other middleware."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

    Args:
        app: the application.
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
            headers = [one for one in scope["headers"] if one[0] != b"content-length"]
            scope, send = {**scope, "headers": headers}, _closing(send)
        await self._app({**scope, **_usual_target(scope)}, receive, send)


def _usual_target(scope: Scope) -> dict[str, Any]:
    """The values of a scope that change in the usual form."""
    raw: bytes = scope["raw_path"]
    changed: dict[str, Any] = {}
    if (absolute := _ABSOLUTE.fullmatch(raw)) is not None:
        raw = absolute["path"] or b"/"
        others = [one for one in scope["headers"] if one[0] != b"host"]
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
