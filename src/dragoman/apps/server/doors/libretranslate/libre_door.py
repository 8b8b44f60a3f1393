"""The paths of LibreTranslate's API."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version

from anyio import to_thread
from babel import negotiate_locale
from fastapi import APIRouter, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, Response

from dragoman.apps.server.content import FILE_FORMATS, translate_contents
from dragoman.apps.server.doors.libretranslate import libre_requests as asked
from dragoman.apps.server.doors.libretranslate.libre_answers import (
    ERRORS,
    LibreChoice,
    LibreChoices,
    LibreDetection,
    LibreHealth,
    LibreLanguage,
    LibreSettings,
    LibreSuccess,
    LibreTranslation,
)
from dragoman.apps.server.doors.libretranslate.libre_files import LibreFiles
from dragoman.apps.server.doors.libretranslate.libre_reception import LibreReception, address_of
from dragoman.apps.server.languages import language_name
from dragoman.apps.server.parameters import RequestParameters
from dragoman.apps.server.premises import Door, Premises
from dragoman.translation.service.interface import (
    Detection,
    Pairing,
    RefusedError,
    TextRequest,
    TranslatedText,
)

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
_TYPING_MILLISECONDS = 500
_UNKNOWN = Detection("en", 0.0)  # as LibreTranslate calls a text in which nothing can be detected


def libretranslate_door(premises: Premises) -> Door:
    """The door for clients of LibreTranslate."""
    paths = _Paths(premises)
    router = APIRouter(tags=["LibreTranslate"], lifespan=premises.jobs.running)
    router.add_api_route(
        "/translate",
        paths.translate,
        methods=["POST"],
        response_model_exclude_none=True,
        responses=ERRORS,
        openapi_extra=asked.described(
            "q",
            "source",
            "target",
            q=asked.TEXTS,
            source=asked.SOURCE,
            target=asked.TARGET,
            format=asked.FORMAT,
            alternatives=asked.ALTERNATIVES,
        ),
    )
    router.add_api_route(
        "/detect",
        paths.detect,
        methods=["POST"],
        responses=ERRORS,
        openapi_extra=asked.described("q", q=asked.TEXTS),
    )
    router.add_api_route(
        "/translate_file",
        paths.translate_file,
        methods=["POST"],
        responses=ERRORS,
        openapi_extra=asked.described(
            "file", "source", "target", file=asked.FILE, source=asked.SOURCE, target=asked.TARGET
        ),
    )
    router.add_api_route(
        "/suggest",
        paths.suggest,
        methods=["POST"],
        responses=ERRORS,
        openapi_extra=asked.described(
            "q",
            "s",
            "source",
            "target",
            q=asked.TEXT,
            s=asked.TEXT,
            source=asked.SOURCE,
            target=asked.TARGET,
        ),
    )
    for path, endpoint in (
        ("/download_file/{file}", paths.download_file),
        ("/languages", paths.languages),
        ("/frontend/settings", paths.settings),
        ("/health", paths.health),
    ):
        name = f"libretranslate{path}".partition("/{")[0]
        router.add_api_route(path, endpoint, methods=["GET"], responses=ERRORS, name=name)

    async def spec() -> JSONResponse:
        """This API, as OpenAPI describes such."""
        return JSONResponse(
            get_openapi(
                title="Dragoman: LibreTranslate's API",
                version=version("dragoman"),
                routes=router.routes,
            )
        )

    router.add_api_route("/spec", spec, methods=["GET"], include_in_schema=False)
    return Door("libretranslate", _PREFIXES, router, _refuse)


def _refuse(error: RefusedError, status: int) -> Response:
    """An error as LibreTranslate words it, which has one status for all that is too large."""
    known = {401: 403, 403: 403, 404: 404, 405: 405, 429: 429}
    message = f"Slowdown: {error}" if status == 429 else str(error)
    found = status if status >= 500 else known.get(status, 400)
    return JSONResponse({"error": message}, status_code=found)


class _Paths:
    """What happens on each path."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises
        self._reception = LibreReception(premises)
        self._files = LibreFiles(premises, self._reception)
        self.translate_file = self._files.translate
        self.download_file = self._files.download

    async def translate(self, request: Request) -> LibreTranslation:
        """Translate text from a language to another."""
        limits = self._premises.config.limits
        task, _ = await self._reception.admit(
            request, partial(asked.LibreTask.read, limits=limits), lambda one: one.texts
        )
        texts = [
            TextRequest(text, task.target, task.source, nbest=task.alternatives + 1)
            for text in task.texts
        ]
        with self._reception.wording(task.source, task.target):
            found = await translate_contents(
                self._premises.service,
                texts,
                "html" if task.is_html else "text",
                seconds=limits.seconds,
            )
        return _answer(task, found)

    async def detect(self, request: Request) -> list[LibreDetection]:
        """Detect the language of a text, or of several together."""
        text, _ = await self._reception.admit(request, _text_to_detect, lambda one: [one])
        return [_detection(one) for one in await self._detected(text)]

    async def suggest(self, request: Request) -> LibreSuccess:
        """Submit a suggestion to improve a translation."""
        suggestion, key = await self._reception.admit(request, asked.LibreSuggestion.read)
        source = suggestion.source or (await self._detected(suggestion.text))[0].language
        add = partial(
            self._premises.store.add_correction,
            suggestion.text,
            suggestion.translation,
            self._reception.known(source),
            self._reception.known(suggestion.target),
            key.id if key else None,
            address=address_of(request),
        )
        await to_thread.run_sync(add)
        return LibreSuccess(success=True)

    async def languages(self) -> list[LibreLanguage]:
        """Retrieve list of supported languages."""
        targets: dict[str, set[str]] = {}
        for source, target in self._premises.service.directions():
            targets.setdefault(source, {source}).add(target)
            targets.setdefault(target, {target})  # a text that is in it already is left as it is
        found = [
            LibreLanguage(code=code, name=language_name(code), targets=sorted(into))
            for code, into in targets.items()
        ]
        return sorted(found, key=lambda one: (one.code != "en", one.name, one.code))

    async def settings(self, request: Request) -> LibreSettings:
        """Retrieve frontend specific settings."""
        config = self._premises.config
        has_keys = await to_thread.run_sync(self._premises.store.has_keys)
        target = _first_target(request, self._premises.service.directions())
        return LibreSettings(
            char_limit=config.limits.characters,
            frontend_timeout=_TYPING_MILLISECONDS,
            api_keys=has_keys or config.require_key,
            key_required=config.require_key,
            suggestions=True,
            files_translation=True,
            supported_files_format=list(FILE_FORMATS),
            language=LibreChoices(
                source=LibreChoice(code="auto", name="Auto Detect"),
                target=LibreChoice(code=target, name=language_name(target)),
            ),
        )

    async def health(self) -> LibreHealth:
        """Whether the server is up."""
        return LibreHealth(status="ok")

    async def _detected(self, text: str) -> list[Detection]:
        [found] = await self._premises.service.detect([text])
        return found or [_UNKNOWN]


def _text_to_detect(given: RequestParameters) -> str:
    texts = given.texts("q")
    return texts if isinstance(texts, str) else "\n".join(texts)


def _answer(task: asked.LibreTask, found: Sequence[TranslatedText]) -> LibreTranslation:
    texts = [one.text for one in found]
    detected = [_detection(one.detection or Detection(one.source, 0.0)) for one in found]
    others = [one.alternatives for one in found]
    return LibreTranslation(
        translated_text=texts if task.is_list else texts[0],
        detected_language=None if task.source else detected if task.is_list else detected[0],
        alternatives=None if not task.alternatives else others if task.is_list else others[0],
    )


def _detection(found: Detection) -> LibreDetection:
    return LibreDetection(confidence=round(100 * found.probability), language=found.language)


def _first_target(request: Request, directions: Sequence[Pairing]) -> str:
    """A target language that the reader's browser prefers, or any."""
    targets = sorted({one.target for one in directions})
    accepted = request.headers.get("accept-language", "").split(",")
    preferred = [one.partition(";")[0].strip() for one in accepted]
    found = negotiate_locale(preferred, targets, sep="-")
    others = [one for one in targets if one != "en"]
    return str(found) if found else [*others, *targets, "en"][0]
