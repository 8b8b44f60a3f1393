"""What machines ask about the server itself: whether it can translate yet, and how much it does.

``/health`` and ``/v1/health`` belong to the doors whose protocols have them.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from dragoman.server.monitoring import Monitoring
from dragoman.server.outage import AWAY
from dragoman.server.readiness import Readiness
from dragoman.server.threads import in_thread
from dragoman.translation.service.interface import RefusedError, TranslationService

STORE_SECONDS = 2.0
"""How long the store may take to answer a server that needs it for each request."""


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
