"""The application: all doors, and what happens before and after them."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dragoman.apps.server.premises import Door
from dragoman.translation.service.interface import RefusalKind, RefusedError

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
}
"""What HTTP has for each kind of refusal."""


def create_app(doors: Sequence[Door]) -> FastAPI:
    """The application behind which a server stands.

    Args:
        doors: protocols; the first one words errors on paths that are nobody's.
    """
    app = FastAPI(title="Dragoman", docs_url=None, redoc_url=None, openapi_url=None)
    for door in doors:
        app.include_router(door.router)

    def door_of(path: str) -> Door:
        def length(door: Door) -> int:
            return max((len(one) for one in door.prefixes if path.startswith(one)), default=0)

        return max(doors, key=length)

    async def refused(request: Request, error: RefusedError) -> Response:
        status = STATUS[error.kind]
        response = door_of(request.url.path).refuse(error, status)
        if error.retry_after is not None:
            response.headers["Retry-After"] = str(max(1, round(error.retry_after)))
        return response

    async def unfit(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(one) for one in first["loc"][1:])
        text = f"{where}: {first['msg']}" if where else str(first["msg"])
        return await refused(request, RefusedError("invalid", text))

    async def http(request: Request, error: HTTPException) -> Response:
        kind: RefusalKind = "not_found" if error.status_code == 404 else "invalid"
        response = door_of(request.url.path).refuse(
            RefusedError(kind, str(error.detail)), error.status_code
        )
        response.headers.update(error.headers or {})
        return response

    app.add_exception_handler(RefusedError, refused)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, unfit)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, http)  # type: ignore[arg-type]
    return app
