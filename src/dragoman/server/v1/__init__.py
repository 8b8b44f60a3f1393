"""The interface of our own, ``/v1``: everything that the service can tell, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import HTMLResponse, Response

import dragoman
from dragoman.server.dependencies import Door, Premises
from dragoman.server.v1.caller import admitted
from dragoman.server.v1.document_routes import DocumentRoutes
from dragoman.server.v1.kept_routes import KeptRoutes
from dragoman.server.v1.manual import STYLE, manual_page
from dragoman.server.v1.responses import ErrorAnswer, HealthAnswer, Problem
from dragoman.server.v1.strict_route import strict_route
from dragoman.server.v1.text_routes import TextRoutes, as_json
from dragoman.translation.service.interface import RefusedError

PREFIX = "/v1"
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

# As a dependency of each route, FastAPI would read the header with each request, for nobody.
_SCHEME: dict[str, list[str]] = {"HTTPBearer": []}

_PATHS = {405: "this path has other methods; see /v1/docs"}

_ABOUT = """\
Everything is JSON in UTF-8. A server that demands a key gets it as `Authorization: Bearer KEY`.

A request that is refused is answered with an `error`, whose `kind` is for programs and whose \
`message` is for people. Requests refused with 429 or 503 may be repeated after the seconds of \
`Retry-After`.
"""


def own_door(premises: Premises) -> Door:
    """``/v1``."""
    router = APIRouter(
        prefix=PREFIX,
        route_class=strict_route(partial(admitted, premises)),
        lifespan=premises.jobs.running,
        responses={
            code: {"model": ErrorAnswer, "description": text} for code, text in _REFUSALS.items()
        },
    )
    TextRoutes(premises).add_to(router)
    KeptRoutes(premises).add_to(router)
    DocumentRoutes(premises).add_to(router)
    _add_health(router, premises)
    _add_manual(router, needs_key=premises.config.require_key)
    return Door("own", (PREFIX,), router, _refused)


def _refused(error: RefusedError, status: int) -> Response:
    if status in _PATHS:
        error = RefusedError(error.kind, _PATHS[status])
    response = as_json(ErrorAnswer(error=Problem.of(error)))
    response.status_code = status
    return response


def _add_health(router: APIRouter, premises: Premises) -> None:
    async def health() -> HealthAnswer:
        """Say that the server works; needs no key."""
        directions = len(premises.service.directions())
        return HealthAnswer(status="ok", version=dragoman.__version__, directions=directions)

    router.get("/health", response_model=HealthAnswer)(health)


def _add_manual(router: APIRouter, *, needs_key: bool) -> None:
    """Add the description of all routes, for programs and for people."""

    @cache  # made when it is first asked for: all routes are known then
    def spec() -> dict[str, Any]:
        return _spec(router, needs_key=needs_key)

    @cache
    def written() -> bytes:
        return json.dumps(spec(), ensure_ascii=False).encode()

    def add(path: str, answer: Callable[[Request], Response]) -> None:
        async def route(request: Request) -> Response:
            return answer(request)

        router.get(path, include_in_schema=False)(route)

    add("/openapi.json", lambda request: Response(written(), media_type="application/json"))
    add("/docs", lambda request: HTMLResponse(manual_page(spec(), str(request.base_url))))
    add("/docs.css", lambda request: Response(STYLE, media_type="text/css"))


def _spec(router: APIRouter, *, needs_key: bool) -> dict[str, Any]:
    """The description after OpenAPI, without the answer 422, which is never given."""
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
                operation["security"] = [_SCHEME] if needs_key else [_SCHEME, {}]  # or none
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
