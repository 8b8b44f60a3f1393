"""What machines ask about the server itself: whether it works, and how much."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from dragoman.apps.server.monitoring import Monitoring
from dragoman.translation.service.interface import RefusedError, TranslationService

PATHS = ("/health", "/v1/health", "/metrics")
"""Answered however busy the server is."""


def operations_router(
    service: TranslationService,
    monitoring: Monitoring,
    *,
    metrics_token: str | None = None,
    details: Callable[[], dict[str, Any]] = dict,
) -> APIRouter:
    """The routes of :data:`PATHS`.

    Args:
        service: works if it translates anything.
        monitoring: has the figures.
        metrics_token: what figures must be asked with; None: nothing.
        details: what ``/v1/health`` says beside the state.
    """
    router = APIRouter()

    def state() -> tuple[str, int]:
        return ("ok", 200) if service.directions() else ("no models are loaded", 503)

    @router.get("/health", include_in_schema=False)
    async def health() -> Response:
        word, status = state()
        return JSONResponse({"status": word}, status)

    @router.get("/v1/health")
    async def detailed_health() -> Response:
        word, status = state()
        return JSONResponse({"status": word, **details()}, status)

    @router.get("/metrics", include_in_schema=False)
    async def metrics(request: Request) -> Response:
        if metrics_token is not None:
            given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
            expected = f"Bearer {metrics_token}".encode()
            if not secrets.compare_digest(given, expected):
                raise RefusedError("forbidden", "metrics need a token: Authorization: Bearer TOKEN")
        return Response(monitoring.text(), media_type=CONTENT_TYPE_LATEST)

    return router
