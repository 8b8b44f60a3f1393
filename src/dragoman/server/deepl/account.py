"""``/v2/languages`` and ``/v2/usage``, and what DeepL has and this server has not."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.server.access import monthly_quota
from dragoman.server.deepl.access import admission, admitted
from dragoman.server.deepl.languages import listed_sources, listed_targets
from dragoman.server.deepl.parameters import DeepLParameters, invalid
from dragoman.server.dependencies import Premises
from dragoman.server.threads import in_thread
from dragoman.translation.service.interface import RefusedError

_UNLIMITED = 1_000_000_000_000
"""Characters per month of an account without limit, as DeepL says it."""

_ABSENT = {
    "/v2/write": "rewriting and correcting texts",
    "/v3/style_rules": "style rules",
    "/v3/translation_memories": "translation memories that are uploaded",
}


def account_router(premises: Premises) -> APIRouter:
    """Routes about the server and the caller."""
    router = APIRouter()

    @router.api_route("/v2/languages", methods=["GET", "POST"])
    async def languages(request: Request) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        await admitted(premises, request, parameters)
        kind = parameters.text("type") or "source"
        if kind not in ("source", "target"):
            raise invalid("Parameter 'type' is invalid. 'source' and 'target' are valid values.")
        listed = listed_sources if kind == "source" else listed_targets
        return JSONResponse(await in_thread(listed, premises.service))

    @router.api_route("/v2/usage", methods=["GET", "POST"])
    async def usage(request: Request) -> Response:
        key = await admission(premises, request, await DeepLParameters.of(premises, request))
        limit = monthly_quota(key, premises.config.limits)
        used = await in_thread(premises.store.used, key.id if key else None)
        return JSONResponse(_usage(used, _UNLIMITED if limit is None else limit))

    for path, what in _ABSENT.items():
        _add_absent(router, path, what)
    return router


def _usage(used: int, limit: int) -> dict[str, Any]:
    start = datetime.now(timezone.utc).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    end = (start + timedelta(days=31)).replace(day=1)
    return {
        "character_count": used,
        "character_limit": limit,
        "start_time": _moment(start),
        "end_time": _moment(end),
    }


def _moment(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _add_absent(router: APIRouter, path: str, what: str) -> None:
    async def absent(request: Request) -> Response:
        raise RefusedError("not_found", f"Not supported by this server: {what}.")

    # Not 501, which DeepL's client would ask again and again.
    for pattern in (path, path + "/{rest:path}"):
        router.add_api_route(pattern, absent, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
