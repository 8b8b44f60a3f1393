"""Readiness and metrics of a server: ``/ready`` and ``/metrics``.

``/health`` and ``/v1/health`` are in the APIs whose protocols define them.
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
"""Maximum time of the store's answer, if each request needs the store."""


class Readiness:
    """Whether a server is ready; while draining, it is not ready but still answers.

    A load balancer that polls ``/ready`` thus learns of the end early, and the requests that it has
    sent meanwhile are still answered.

    Args:
        drain_seconds: how long the server still accepts requests after the signal to stop.
        clock: gives the time, in seconds.
    """

    def __init__(
        self, drain_seconds: float = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.drain_seconds, self._clock = drain_seconds, clock
        self._end: float | None = None

    def drain(self) -> None:
        """Report the server as not ready from now on."""
        if self._end is None:
            self._end = self._clock() + self.drain_seconds

    @property
    def is_draining(self) -> bool:
        """Whether the server is about to end."""
        return self._end is not None

    @property
    def is_over(self) -> bool:
        """Whether draining is over and the server may end."""
        return self._end is not None and self._clock() >= self._end


class _StoreLook:
    """Checks that a store answers; simultaneous checks share a query.

    Args:
        ask: queries the store; blocks.
    """

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._asking: asyncio.Task[bool] | None = None

    async def answers(self) -> bool:
        """Whether the store answers in time."""
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
        service: ready when it has models and its processes run.
        monitoring: has the metrics.
        metrics_token: token that ``/metrics`` requires; None: none.
        readiness: of the server.
        ask_store: queries the store; blocks.  None: not every request needs the store.
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
