"""Heads of requests that are written unusually, made usual before anything else reads them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ABSOLUTE = re.compile(
    rb"https?://(?:[^/?#@]*@)?(?P<host>[^/?#@]+)(?P<path>/.*)?", re.IGNORECASE | re.DOTALL
)
"""A target that names the server too, as clients write it that take us for a proxy (RFC 9112,
section 3.2.2)."""
_SLASHES = re.compile(b"//+")


class RequestHead:
    """Passes on requests whose path begins with one slash, and whose length is said once.

    A base address that ends in a slash becomes ``//translate`` in many clients.  A request with
    both ``Content-Length`` and ``Transfer-Encoding`` is read as the latter says, and its connection
    closes after the answer, as a proxy in front may have read it otherwise (RFC 9112, section 6.3).

    Args:
        app: what answers.
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
    """What of a scope is another in its usual form."""
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
    """Send an answer after which the connection closes."""

    async def send_and_close(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Connection"] = "close"
        await send(message)

    return send_and_close
