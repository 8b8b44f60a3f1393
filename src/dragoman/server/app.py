"""The application: all APIs, and the middleware and errors that they share."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from dragoman.core.errors import DragomanError
from dragoman.core.wording import shown
from dragoman.server.access import AccessControl
from dragoman.server.admission import AdmissionControl
from dragoman.server.database.failures import AWAY
from dragoman.server.database.server_store import ServerStore
from dragoman.server.deepl import DEEPL
from dragoman.server.dependencies import Api, Dependencies
from dragoman.server.libretranslate import LIBRETRANSLATE
from dragoman.server.monitoring import Monitoring, Readiness, operations_router
from dragoman.server.parameters import keep_uploads_in_memory
from dragoman.server.request_bounds import RequestBounds
from dragoman.server.request_log import RequestHead, RequestLog
from dragoman.server.server_config import LimitsConfig, ServerConfig
from dragoman.server.v1 import V1
from dragoman.server.web.page import web_api
from dragoman.translation.service.interface import (
    RefusalKind,
    RefusedError,
    ServiceStatus,
    TranslationService,
)

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
"""The HTTP status of each kind of refusal."""

_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
_PREFLIGHT_SECONDS = 3600
_AWAY_SECONDS = 5.0
_UNBOUNDED = ("/health", "/v1/health", "/ready", "/metrics")  # answered however busy the server is


def assemble(
    config: ServerConfig,
    service: TranslationService,
    store: ServerStore,
    status: Callable[[], ServiceStatus] | None = None,
    readiness: Readiness | None = None,
) -> FastAPI:
    """The application with all APIs of a server.

    The caller closes the store.
    """
    readiness = readiness or Readiness(config.drain_seconds)
    monitoring = Monitoring(status)
    access = AccessControl(
        store, config.limits, require_key=config.require_key, count=monitoring.count_characters
    )
    dependencies = Dependencies(service, store, access, config)
    apis = [LIBRETRANSLATE, DEEPL, V1]
    if config.web:
        apis.append(web_api(dependencies))
    needed = store.has_keys if config.require_key else None
    return create_app(
        apis,
        config.limits,
        allowed_origins=config.allowed_origins,
        operations=operations_router(service, monitoring, config.metrics_token, readiness, needed),
        monitoring=monitoring,
        readiness=readiness,
        dependencies=dependencies,
    )


def create_app(
    apis: Sequence[Api],
    limits: LimitsConfig | None = None,
    *,
    allowed_origins: Sequence[str] = ("*",),
    operations: APIRouter | None = None,
    monitoring: Monitoring | None = None,
    readiness: Readiness | None = None,
    dependencies: Dependencies | None = None,
) -> FastAPI:
    """The application of some APIs, with shared middleware and error handlers.

    The first API also words errors on paths of no API.  The dependencies run while the application
    does.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if dependencies is None:
            yield
        else:
            async with dependencies.running():
                yield

    app = FastAPI(
        title="Dragoman",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        # Its spans have the query, which may have a text; RequestLog makes those of a request.
        telemetry={"tracing": False},
    )
    app.state.dependencies = dependencies
    if operations is not None:
        app.include_router(operations)
    for api in apis:
        app.include_router(api.router)
    limits = limits or LimitsConfig()
    monitoring = monitoring or Monitoring()
    readiness = readiness or Readiness()
    keep_uploads_in_memory()
    refuse = _wording(apis)
    _word_errors(app, refuse)
    admission = AdmissionControl(
        limits.connections, refuse, _UNBOUNDED, monitoring.count, readiness
    )
    app.state.admission = admission  # for the server, which consults it before parsing a request
    # The middleware added last is the first to see a request.
    app.add_middleware(RequestBounds, limits=limits, refuse=refuse, admission=admission)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(allowed_origins),
        allow_methods=list(_METHODS),
        allow_headers=["*"],
        expose_headers=["X-Request-ID", "Retry-After"],
        max_age=_PREFLIGHT_SECONDS,
    )
    app.add_middleware(RequestLog, monitoring=monitoring, readiness=readiness)
    app.add_middleware(RequestHead)
    return app


def _wording(apis: Sequence[Api]) -> Callable[[str, RefusedError, int], Response]:
    """A function that refuses in the format of the API with the longest prefix of the path."""

    def refuse(path: str, error: RefusedError, status: int) -> Response:
        def length(api: Api) -> int:
            return max(map(len, filter(path.startswith, api.prefixes)), default=0)

        response = max(apis, key=length).refuse(error, status)
        if error.retry_after is not None:
            response.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
        return response

    return refuse


def _methods(app: FastAPI, scope: Scope) -> list[str]:
    """The methods of all routes of a path; the framework names those of a single route."""
    return [
        method
        for method in _METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in app.routes)
    ]


def _word_errors(app: FastAPI, refuse: Callable[[str, RefusedError, int], Response]) -> None:
    """Answer errors of the application in the format of the API of their path."""

    async def refused(request: Request, error: RefusedError) -> Response:
        return refuse(request.scope["path"], error, STATUS[error.kind])  # its URL may not be UTF-8

    async def away(request: Request, error: DragomanError) -> Response:
        # The error's text has paths and addresses, which belong only in the log.
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
