"""Whether a server takes requests, and how much it does: ``/ready`` and ``/metrics``.

``/health`` and ``/v1/health`` belong to the APIs whose protocols have them.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from dragoman.server.database.failures import AWAY
from dragoman.server.monitoring import Monitoring
from dragoman.server.threads import in_thread
from dragoman.translation.service.interface import RefusedError, TranslationService

STORE_SECONDS = 2.0
"""How long the store may take to answer a server that needs it for each request."""


class Readiness:
    """Ready until it drains; then for some seconds not ready and still answering.

    A balancer that asks ``/ready`` learns that the server will end while the server still answers
    what the balancer has sent meanwhile, so that nothing is lost.

    Args:
        drain_seconds: how long a server still takes requests once it was told to stop.
        clock: tells the time, in seconds.
    """

    def __init__(
        self, drain_seconds: float = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.drain_seconds, self._clock = drain_seconds, clock
        self._end: float | None = None

    def drain(self) -> None:
        """Say from now on that the server is not ready."""
        if self._end is None:
            self._end = self._clock() + self.drain_seconds

    @property
    def is_draining(self) -> bool:
        """Whether the server is about to end."""
        return self._end is not None

    @property
    def is_over(self) -> bool:
        """Whether it may end now."""
        return self._end is not None and self._clock() >= self._end


class _StoreLook:
    """Whether a store answers, asked once at a time, however many want to know.

    Args:
        ask: asks something; blocks.
    """

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._asking: asyncio.Task[bool] | None = None

    async def answers(self) -> bool:
        """Whether it answers, and in time."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(in_thread(self._asked))
        asking = self._asking
        await asyncio.wait({asking}, timeout=STORE_SECONDS)
        return asking.done() and asking.result()

    def _asked(self) -> bool:
        try:
            self._ask()
        except AWAY:
            return False
        return True


def operations_router(
    service: TranslationService,
    monitoring: Monitoring,
    metrics_token: str | None = None,
    readiness: Readiness | None = None,
    ask_store: Callable[[], object] | None = None,
) -> APIRouter:
    """The routes ``/ready`` and ``/metrics``.

    Args:
        service: is ready once it translates anything, and while it does.
        monitoring: has the figures.
        metrics_token: what the figures must be asked with; None: nothing.
        readiness: of the server.
        ask_store: asks the store, which blocks; None: it is not needed for every request.
    """
    store = None if ask_store is None else _StoreLook(ask_store)
    router = APIRouter(include_in_schema=False)
    state = readiness or Readiness()

    @router.get("/ready")
    async def ready() -> Response:
        if state.is_draining:
            return JSONResponse({"status": "the server is about to end"}, 503)
        if not service.directions():
            return JSONResponse({"status": "no models are loaded"}, 503)
        if not service.is_ready():
            return JSONResponse({"status": "processes that translate are being started"}, 503)
        if store is not None and not await store.answers():
            return JSONResponse({"status": "the database does not answer"}, 503)
        return JSONResponse({"status": "ok"})

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        if metrics_token is not None:
            given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
            expected = f"Bearer {metrics_token}".encode()
            if not secrets.compare_digest(given, expected):
                raise RefusedError("forbidden", "metrics need a token: Authorization: Bearer TOKEN")
        return Response(monitoring.text(), media_type=CONTENT_TYPE_LATEST)

    return router
