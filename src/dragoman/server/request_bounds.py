"""Limits on requests to any API: their number, size and time."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.server.access import network_of
from dragoman.server.admission import BUSY_STATUS, AdmissionControl, Refuse
from dragoman.server.request_log import request_number
from dragoman.server.server_config import LimitsConfig
from dragoman.translation.service.interface import RefusedError

log = logging.getLogger(__name__)

SMALL_BODY = 1 << 18
"""Bytes up to which a body is read immediately; a larger body waits for one of a few places."""
LARGE_BODIES = 16
"""Maximum number of larger bodies in memory."""
LARGE_BODIES_OF_ONE = 8
"""Maximum number of them from one network, so that a slow sender cannot take all places."""
DRAIN_SECONDS = 2.0
"""How long the rest of a refused body is read, so that its client sees the answer."""


class _GoneError(Exception):
    """The client has left."""


class _TooLongError(Exception):
    """The body exceeds the maximum size.

    Args:
        is_read: whether all of the body has arrived nevertheless.
    """

    def __init__(self, is_read: bool) -> None:
        super().__init__()
        self.is_read = is_read


class _TooSlowError(Exception):
    """The body is incomplete when its time is up."""


class _LargeBodies:
    """Places for larger bodies; a request waits for a free place."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(LARGE_BODIES)
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def place(self, scope: Scope) -> AsyncIterator[None]:
        """A place for the body of a request."""
        network = network_of(scope["client"][0]) if scope.get("client") else ""
        share = self._shares.setdefault(network, asyncio.Semaphore(LARGE_BODIES_OF_ONE))
        async with share, self._places:
            yield


class RequestBounds:
    """Middleware that limits requests, and answers each of them.

    A body is read before the application sees the request, so that a slow client delays only
    itself.  The work on a request is cancelled when its client leaves or the admission closes.  An
    unexpected error is logged, and the client gets only the number of the request.
    """

    def __init__(
        self, app: ASGIApp, limits: LimitsConfig, refuse: Refuse, admission: AdmissionControl
    ) -> None:
        self._app, self._limits, self._refuse = app, limits, refuse
        self._admission = admission
        self._large = _LargeBodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if not self._admission.admits(scope["path"]):
            await self._reject(scope, receive, send, self._admission.error, BUSY_STATUS)
            return
        with self._admission.inside() as work:
            await _Exchange(scope, receive, send, self).run(work)

    async def _reject(
        self, scope: Scope, receive: Receive, send: Send, error: RefusedError, status: int
    ) -> None:
        """Refuse a request whose body is not read, and close its connection."""
        await self._drain(scope, receive)
        response = self._refuse(scope["path"], error, status)
        response.headers["Connection"] = "close"
        await response(scope, receive, send)

    async def _drain(self, scope: Scope, receive: Receive) -> None:
        """Read the rest of a body, within limits: many clients read the answer only after it."""
        if _header(scope, b"expect").lower() == b"100-continue":
            return  # it has not begun
        size, most = 0, 4 * self._limits.body_bytes
        with anyio.move_on_after(DRAIN_SECONDS):
            while size <= most:
                message = await receive()
                size += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body"):
                    return


class _Exchange:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, bounds: RequestBounds) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._bounds, self._limits = bounds, bounds._limits
        self._body: bytes | None = None
        self._is_begun = False
        self._gone = anyio.Event()

    async def run(self, work: anyio.CancelScope) -> None:
        """Answer the request within its time.

        Args:
            work: cancelled when the server ends and the time of all requests is up.
        """
        unread = True
        async with AsyncExitStack() as places:
            try:
                with work:
                    work.deadline = anyio.current_time() + self._limits.seconds
                    body = await self._read_body(places)
                    unread = False
                    await self._answer(body)
            except _GoneError:
                return
            except _TooLongError as error:
                text = f"a request may have {self._limits.body_bytes} bytes; send less at once"
                refusal = RefusedError("too_large", text)
                await self._refuse(refusal, 413, unread=not error.is_read)
            except _TooSlowError:
                text = f"the request was not complete after {self._limits.upload_seconds:g} seconds"
                await self._refuse(RefusedError("timed_out", text), 408, unread=True)
            except Exception:
                log.exception("an error in answering %s", ascii(self._scope["path"]))
                text = f"an error of the server, which its log has as {request_number.get()}"
                await self._refuse(RefusedError("internal", text), 500)
            if work.cancelled_caught:
                await self._refuse(self._late(), 503, unread=unread)

    def _late(self) -> RefusedError:
        if self._bounds._admission.is_closed:
            return self._bounds._admission.ending_error
        seconds = self._limits.seconds
        log.warning("a request was not answered within %g seconds", seconds)
        text = f"there was no answer within {seconds:g} seconds; send less at once"
        return RefusedError("timed_out", text, 5)

    async def _read_body(self, places: AsyncExitStack) -> bytes:
        """The whole body.

        Raises:
            _GoneError: the client left before the body was complete.
            _TooLongError: the body is too long.
            _TooSlowError: the body takes too long.
        """
        most, parts, size, has_place = self._limits.body_bytes, [], 0, False
        length = int(_header(self._scope, b"content-length") or 0)
        if length > most:
            raise _TooLongError(is_read=False)
        with anyio.move_on_after(self._limits.upload_seconds) as clock:
            while True:
                message = await self._receive()
                if message["type"] != "http.request":
                    raise _GoneError
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise _TooLongError(is_read=not message.get("more_body"))
                if not message.get("more_body"):
                    return b"".join(parts)
                # Counts bytes that have arrived, as announcing more costs a client nothing.
                if size > SMALL_BODY and not has_place:
                    # Waiting for a place is not the client's fault: only the request's time runs.
                    left, clock.deadline = clock.deadline - anyio.current_time(), math.inf
                    await places.enter_async_context(self._bounds._large.place(self._scope))
                    clock.deadline = anyio.current_time() + left
                    has_place = True
        raise _TooSlowError

    async def _answer(self, body: bytes) -> None:
        """Run the application; stop when the client leaves."""
        self._body = body
        failed: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, group.cancel_scope)
            try:
                await self._bounds._app(self._scope, self._receive_again, self._send_on)
            except Exception as error:
                failed = error
            group.cancel_scope.cancel()
        if failed is not None:
            raise failed

    async def _watch(self, work: anyio.CancelScope) -> None:
        """Cancel the work when the client leaves."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        work.cancel()

    async def _receive_again(self) -> Message:
        """The body in one message; later, a disconnect message when the client leaves."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send_on(self, message: Message) -> None:
        self._is_begun = True
        await self._send(message)

    async def _refuse(self, error: RefusedError, status: int, *, unread: bool = False) -> None:
        """Refuse the request, or close the connection if the answer has begun."""
        if self._is_begun:
            return
        scope, receive, send = self._scope, self._receive, self._send
        if unread:
            await self._bounds._reject(scope, receive, send, error, status)
        else:
            await self._bounds._refuse(scope["path"], error, status)(scope, receive, send)


def _header(scope: Scope, name: bytes) -> bytes:
    return next((bytes(value) for key, value in scope["headers"] if key == name), b"")
