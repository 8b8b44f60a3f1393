"""LibreTranslate's paths, how they are described, and how errors are worded on them."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, Response

from dragoman.server.dependencies import Door, Premises
from dragoman.server.libretranslate.answers import ERRORS
from dragoman.server.libretranslate.paths import LibrePaths
from dragoman.server.libretranslate.requests import DESCRIBED
from dragoman.translation.service.interface import RefusedError

_PREFIXES = (
    "/translate",
    "/translate_file",
    "/download_file",
    "/detect",
    "/languages",
    "/suggest",
    "/frontend/settings",
    "/health",
    "/spec",
)


def libretranslate_door(premises: Premises) -> Door:
    """The door for clients of LibreTranslate."""
    paths = LibrePaths(premises)
    router = APIRouter(tags=["LibreTranslate"], lifespan=premises.jobs.running)
    for path, posted in (
        ("/translate", paths.translate),
        ("/detect", paths.detect),
        ("/translate_file", paths.translate_file),
        ("/suggest", paths.suggest),
    ):
        router.add_api_route(
            path,
            posted,
            methods=["POST"],
            response_model_exclude_none=True,
            responses=ERRORS,
            openapi_extra=DESCRIBED[path],
        )
    for path, got in (
        ("/download_file/{file}", paths.download_file),
        ("/languages", paths.languages),
        ("/frontend/settings", paths.settings),
        ("/health", paths.health),
    ):
        name = f"libretranslate{path}".partition("/{")[0]
        router.add_api_route(path, got, methods=["GET"], responses=ERRORS, name=name)

    @cache  # made when it is first asked for: all routes are known then
    def written() -> bytes:
        title = "Dragoman: LibreTranslate's API"
        found = get_openapi(title=title, version=version("dragoman"), routes=router.routes)
        return json.dumps(found, ensure_ascii=False).encode()

    async def spec() -> Response:
        """This API, as OpenAPI describes such."""
        return Response(written(), media_type="application/json")

    router.add_api_route("/spec", spec, methods=["GET"], include_in_schema=False)
    return Door("libretranslate", _PREFIXES, router, _refuse)


def _refuse(error: RefusedError, status: int) -> Response:
    """An error as LibreTranslate words it, which has one status for all that is too large."""
    known = {401: 403, 403: 403, 404: 404, 405: 405, 429: 429}
    message = f"Slowdown: {error}" if status == 429 else str(error)
    found = status if status >= 500 else known.get(status, 400)
    return JSONResponse({"error": message}, status_code=found)
