"""The application: all doors, and what happens before and after them."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from dragoman.core.errors import DragomanError
from dragoman.core.wording import shown
from dragoman.server.admission import Turnstile
from dragoman.server.dependencies import Door
from dragoman.server.monitoring import Monitoring
from dragoman.server.outage import AWAY
from dragoman.server.parameters import keep_uploads_in_memory
from dragoman.server.readiness import Readiness
from dragoman.server.request_bounds import RequestBounds
from dragoman.server.request_head import RequestHead
from dragoman.server.request_log import RequestLog
from dragoman.server.server_config import LimitsConfig
from dragoman.translation.service.interface import RefusalKind, RefusedError

log = logging.getLogger(__name__)

STATUS: dict[RefusalKind, int] = {
    "invalid": 400,
    "unsupported": 400,
    "forbidden": 403,
    "not_found": 404,
    "too_large": 413,
    "too_many_requests": 429,
    "quota_exceeded": 429,
    "busy": 503,
    "timed_out": 503,
    "internal": 500,
}
"""What HTTP has for each kind of refusal."""

_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
_PREFLIGHT_SECONDS = 3600
_AWAY_SECONDS = 5.0
_UNBOUNDED = ("/health", "/v1/health", "/ready", "/metrics")  # asked however busy the server is

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_app(
    doors: Sequence[Door],
    limits: LimitsConfig | None = None,
    *,
    allowed_origins: Sequence[str] = ("*",),
    operations: APIRouter | None = None,
    monitoring: Monitoring | None = None,
    readiness: Readiness | None = None,
    lifespan: Lifespan | None = None,
) -> FastAPI:
    """The application behind which a server stands.

    Args:
        doors: protocols; the first one words errors on paths that are nobody's.
        limits: bounds of each request.
        allowed_origins: of web pages that may call it.
        operations: routes about the server itself.
        monitoring: counts requests.
        readiness: once it drains, each answer closes its connection.
        lifespan: what is opened before the first request, and closed after the last one.
    """
    app = FastAPI(
        title="Dragoman", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )
    if operations is not None:
        app.include_router(operations)
    for door in doors:
        app.include_router(door.router)
    limits = limits or LimitsConfig()
    monitoring = monitoring or Monitoring()
    readiness = readiness or Readiness()
    keep_uploads_in_memory()
    refuse = _wording(doors)
    _word_errors(app, refuse)
    turnstile = Turnstile(limits.connections, refuse, _UNBOUNDED, monitoring.count, readiness)
    app.state.turnstile = turnstile  # for the server, which asks it before it parses a request
    # The last one added is the first to see a request.
    app.add_middleware(RequestBounds, limits=limits, refuse=refuse, turnstile=turnstile)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(allowed_origins),
        allow_methods=list(_METHODS),
        allow_headers=["*"],
        expose_headers=["X-Request-ID", "Retry-After"],
        max_age=_PREFLIGHT_SECONDS,
    )
    app.add_middleware(
        RequestLog,
        record=monitoring.record,
        begin=monitoring.begin,
        is_ending=lambda: readiness.is_draining,
    )
    app.add_middleware(RequestHead)
    return app


def _wording(doors: Sequence[Door]) -> Callable[[str, RefusedError, int], Response]:
    """What words a refusal: the door with the longest prefix of the path."""

    def refuse(path: str, error: RefusedError, status: int) -> Response:
        def length(door: Door) -> int:
            return max((len(one) for one in door.prefixes if path.startswith(one)), default=0)

        response = max(doors, key=length).refuse(error, status)
        if error.retry_after is not None:
            response.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
        return response

    return refuse


def _methods(app: FastAPI, scope: Scope) -> list[str]:
    """The methods of a path, which several routes may have; the framework names those of one."""
    return [
        method
        for method in _METHODS
        if any(one.matches({**scope, "method": method})[0] is Match.FULL for one in app.routes)
    ]


def _word_errors(app: FastAPI, refuse: Callable[[str, RefusedError, int], Response]) -> None:
    """Word the errors of the application by the door of their path."""

    async def refused(request: Request, error: RefusedError) -> Response:
        return refuse(request.scope["path"], error, STATUS[error.kind])  # its URL may not be UTF-8

    async def away(request: Request, error: DragomanError) -> Response:
        # Its text has paths and addresses, which are for the log alone.
        log.error("the database does not answer: %s", error)
        text = "the database does not answer; try again later"
        return await refused(request, RefusedError("busy", text, _AWAY_SECONDS))

    async def unfit(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(one) for one in first["loc"][1:])
        text = f"{where}: {first['msg']}" if where else str(first["msg"])
        return await refused(request, RefusedError("invalid", text))

    async def http(request: Request, error: HTTPException) -> Response:
        is_missing = error.status_code == 404
        kind: RefusalKind = "not_found" if is_missing else "invalid"
        path = request.scope["path"]
        text = f"there is no path {shown(path)}; correct it" if is_missing else str(error.detail)
        response = refuse(path, RefusedError(kind, text), error.status_code)
        response.headers.update(error.headers or {})
        if error.status_code == 405:
            response.headers["Allow"] = ", ".join(_methods(app, request.scope))
        return response

    app.add_exception_handler(RefusedError, refused)  # type: ignore[arg-type]
    for kind in AWAY:
        app.add_exception_handler(kind, away)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, unfit)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, http)  # type: ignore[arg-type]
