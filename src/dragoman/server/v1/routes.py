"""Dragoman's own API, ``/v1``: all results of the service, as JSON."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import HTMLResponse, Response

import dragoman
from dragoman.server.dependencies import Api, Server
from dragoman.server.v1 import document_routes, kept_routes, text_routes
from dragoman.server.v1.manual import STYLE, manual_page
from dragoman.server.v1.responses import ErrorAnswer, HealthAnswer, Problem
from dragoman.server.v1.strict_route import PREFIX, StrictRoute
from dragoman.translation.service.interface import RefusedError

HEALTH = f"{PREFIX}/health"

_REFUSALS: dict[int | str, str] = {
    400: "The request makes no sense, or there is no such language or direction.",
    403: "The key is missing or wrong.",
    404: "There is no such thing.",
    413: "The request is longer than the bounds of the server.",
    429: "Too many requests, or no characters left in this month; `Retry-After` says when to "
    "try again.",
    503: "Too much is waiting, or the time is up; `Retry-After` says when to try again.",
}

# Not a dependency of each route, as FastAPI would needlessly read the header with each request.
_SCHEME: dict[str, list[str]] = {"HTTPBearer": []}

_PATHS = {405: "this path has other methods; see /v1/docs"}

_ABOUT = """\
Everything is JSON in UTF-8. A server that demands a key gets it as `Authorization: Bearer KEY`.

A request that is refused is answered with an `error`, whose `kind` is for programs and whose \
`message` is for people. Requests refused with 429 or 503 may be repeated after the seconds of \
`Retry-After`.
"""


_about_itself = APIRouter(prefix=PREFIX, route_class=StrictRoute)


@_about_itself.get("/health", response_model=HealthAnswer)
async def health(server: Server) -> HealthAnswer:
    """Say that the server works; needs no key."""
    directions = len(server.service.directions())
    return HealthAnswer(status="ok", version=dragoman.__version__, directions=directions)


@_about_itself.get("/openapi.json", include_in_schema=False)
async def openapi(server: Server) -> Response:
    """The description of all routes, for programs."""
    return Response(_written(server.config.require_key), media_type="application/json")


@_about_itself.get("/docs", include_in_schema=False)
async def docs(request: Request, server: Server) -> Response:
    """The description of all routes, for people."""
    spec = _spec(server.config.require_key)
    return HTMLResponse(manual_page(spec, str(request.base_url)))


@_about_itself.get("/docs.css", include_in_schema=False)
async def style() -> Response:
    """The style sheet of this page."""
    return Response(STYLE, media_type="text/css")


def _refused(error: RefusedError, status: int) -> Response:
    if status in _PATHS:
        error = RefusedError(error.kind, _PATHS[status])
    response = text_routes.as_json(ErrorAnswer(error=Problem.of(error)))
    response.status_code = status
    return response


router = APIRouter(
    responses={
        code: {"model": ErrorAnswer, "description": text} for code, text in _REFUSALS.items()
    }
)
for _part in (text_routes.router, kept_routes.router, document_routes.router, _about_itself):
    router.include_router(_part)

V1 = Api("v1", (PREFIX,), router, _refused)


@cache  # made at the first request, when all routes are known
def _spec(needs_key: bool) -> dict[str, Any]:
    """The OpenAPI description, without the answer 422, which is never given."""
    found = get_openapi(
        title="Dragoman",
        version=dragoman.__version__,
        description=_ABOUT,
        routes=router.routes,
    )
    for path, operations in found["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            if path != HEALTH:
                operation["security"] = [_SCHEME] if needs_key else [_SCHEME, {}]  # or no key
    for name in ("HTTPValidationError", "ValidationError"):
        found["components"]["schemas"].pop(name, None)
    found["components"]["securitySchemes"] = {
        "HTTPBearer": {
            "type": "http",
            "description": "A key of this server.",
            "scheme": "bearer",
        }
    }
    return found


@cache
def _written(needs_key: bool) -> bytes:
    return json.dumps(_spec(needs_key), ensure_ascii=False).encode()
