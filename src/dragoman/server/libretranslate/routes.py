"""LibreTranslate's API: its routes, their description, and the format of errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any

from babel import negotiate_locale
from fastapi import APIRouter, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, Response

from dragoman.documents.content import ContentFormat, translate_contents
from dragoman.documents.filetypes import file_suffixes
from dragoman.server.access import key_id, network_of
from dragoman.server.database.records import DocumentJob
from dragoman.server.database.server_store import in_thread
from dragoman.server.dependencies import Api, Dependencies, Server, time_left
from dragoman.server.job_results import download, failure
from dragoman.server.language_names import known_direction, language_name
from dragoman.server.libretranslate.requests import (
    DESCRIBED,
    Posted,
    known_language,
    unsupported_language,
)
from dragoman.server.libretranslate.responses import (
    ERRORS,
    LibreChoice,
    LibreChoices,
    LibreDetection,
    LibreFile,
    LibreHealth,
    LibreLanguage,
    LibreSettings,
    LibreSuccess,
    LibreTranslation,
)
from dragoman.server.parameters import address_of, invalid
from dragoman.translation.service.interface import Pairing, RefusedError, TextRequest
from dragoman.translation.service.translated_text import Detection, TranslatedText

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
_UNKNOWN = Detection("en", 0.0)  # LibreTranslate's answer if nothing can be detected
_KEPT = timedelta(minutes=30)
"""How long a translated file can be fetched; the same as in LibreTranslate."""
_PATIENCE = 0.5
"""The share of a request's time for which it waits for a file."""

router = APIRouter(tags=["LibreTranslate"])


def _posted(path: str) -> dict[str, Any]:
    """Options of a route with a body: its description and responses."""
    described = {"responses": ERRORS, "openapi_extra": DESCRIBED[path]}
    return {"path": path, "response_model_exclude_none": True, **described}


def _got(path: str) -> dict[str, Any]:
    """Options of a route without a body, which is named after its path."""
    name = f"libretranslate{path}".partition("/{")[0]
    return {"path": path, "responses": ERRORS, "name": name}


@router.post(**_posted("/translate"))
async def translate(server: Server, incoming: Posted) -> LibreTranslation:
    """Translate text from a language to another."""
    given, limits = incoming.given, server.config.limits
    texts = given.texts("q")
    source, target = given.languages()
    alternatives = given.count("alternatives", limits.alternatives)
    kind = given.text("format") or "text"
    if kind not in ("text", "html"):
        raise RefusedError("invalid", f"{kind[:40]} format is not supported")
    listed = [texts] if isinstance(texts, str) else texts
    await incoming.admit(listed)
    requests = [TextRequest(text, target, source, nbest=alternatives + 1) for text in listed]
    content_format: ContentFormat = "html" if kind == "html" else "text"
    with unsupported_language(server.service, source, target):
        translated = await translate_contents(
            server.service, requests, content_format, seconds=limits.seconds
        )
    return _answer(translated, listed is texts, detects=source is None, has_others=alternatives > 0)


@router.post(**_posted("/detect"))
async def detect(server: Server, incoming: Posted) -> list[LibreDetection]:
    """Detect the language of a text, or of several together."""
    texts = incoming.given.texts("q")
    text = texts if isinstance(texts, str) else "\n".join(texts)
    await incoming.admit([text])
    [detections] = await server.service.detect([text])
    return list(map(_detection, detections or [_UNKNOWN]))


@router.post(**_posted("/translate_file"), name="translate")
async def translate_file(request: Request, server: Server, incoming: Posted) -> LibreFile:
    """Translate file from a language to another.

    The address of a file that takes long is given before it is done; who fetches it then waits
    for it.
    """
    file, suffixes = incoming.given.upload("file"), file_suffixes()
    source, target = incoming.given.languages()
    if not file.name or not file.content:
        raise invalid("empty file")
    if not file.name.lower().endswith(suffixes):
        raise invalid("file format not supported; supported are " + ", ".join(suffixes))
    key = await incoming.admit(files=True)
    text_request = TextRequest(
        "",
        target=known_language(server.service, target),
        source=None if source is None else known_language(server.service, source),
    )
    job = await server.jobs.submit(file.name, file.content, text_request, key_id(key))
    settled = await _done(server, job)
    if settled is not None and settled.state == "error":
        raise failure(settled)
    name = f"{job.id}{PurePosixPath(job.file_name).suffix.lower()}"
    address = request.url_for("libretranslate/download_file", file=name)
    # The secret is not in the path, which logs contain.
    return LibreFile(translated_file_url=str(address.include_query_params(secret=job.secret)))


@router.post(**_posted("/suggest"))
async def suggest(request: Request, server: Server, incoming: Posted) -> LibreSuccess:
    """Submit a suggestion to improve a translation."""
    text, translation = incoming.given.required("q"), incoming.given.required("s")
    source, target = incoming.given.languages()
    key = await incoming.admit()  # the store limits the length of texts
    with unsupported_language(server.service, source, target):
        if source is None:
            [detection] = await server.service.detect_sources([text], target)
            source = detection.language
        pair = known_direction(server.service, source, target)
    client = network_of(address_of(request))
    add = server.store.add_correction
    await in_thread(add, text, translation, *pair, key_id(key), address=client)
    return LibreSuccess(success=True)


@router.get(**_got("/download_file/{file}"))
async def download_file(server: Server, file: str, secret: str = "") -> Response:
    """Download a translated file."""
    identifier = file.partition(".")[0]
    job = await in_thread(server.store.job, identifier, secret) if secret else None
    if job is None or _is_over(job):
        raise _not_found()
    job = await _done(server, job)
    if job is None:
        raise RefusedError("busy", "the file is not translated yet; try again later", 5)
    content = None
    if job.state == "done":
        content = await in_thread(server.store.take_result, job.id, delete=False)
    if content is None:
        raise failure(job)
    return download(job, content)


@router.get(**_got("/languages"))
async def languages(server: Server) -> list[LibreLanguage]:
    """Retrieve list of supported languages."""
    targets: dict[str, set[str]] = {}
    for source, target in server.service.directions():
        targets.setdefault(source, {source}).add(target)
        targets.setdefault(target, {target})  # such a text stays unchanged
    listed = [
        LibreLanguage(code=code, name=language_name(code), targets=sorted(into))
        for code, into in targets.items()
    ]
    return sorted(listed, key=lambda one: (one.code != "en", one.name, one.code))


@router.get(**_got("/frontend/settings"))
async def settings(request: Request, server: Server) -> LibreSettings:
    """Retrieve frontend specific settings."""
    config = server.config
    has_keys = await in_thread(server.store.has_keys)
    target = _first_target(request, server.service.directions())
    return LibreSettings(
        char_limit=config.limits.characters,
        frontend_timeout=_TYPING_MILLISECONDS,
        api_keys=has_keys or config.require_key,
        key_required=config.require_key,
        suggestions=True,
        files_translation=True,
        supported_files_format=list(file_suffixes()),
        language=LibreChoices(
            source=LibreChoice(code="auto", name="Auto Detect"),
            target=LibreChoice(code=target, name=language_name(target)),
        ),
    )


@router.get(**_got("/health"))
async def health() -> LibreHealth:
    """Whether the server is up."""
    return LibreHealth(status="ok")


@cache  # made at the first request, when all routes are known
def _spec() -> bytes:
    title = "Dragoman: LibreTranslate's API"
    described = get_openapi(title=title, version=version("dragoman"), routes=router.routes)
    return json.dumps(described, ensure_ascii=False).encode()


@router.get("/spec", include_in_schema=False)
async def spec() -> Response:
    """The description of this API, after OpenAPI."""
    return Response(_spec(), media_type="application/json")


def _answer(
    translated: Sequence[TranslatedText], is_list: bool, *, detects: bool, has_others: bool
) -> LibreTranslation:
    texts = [text.text for text in translated]
    detected = [_detection(text.detection or Detection(text.source, 0.0)) for text in translated]
    others = [text.alternatives for text in translated]
    return LibreTranslation(
        translated_text=texts if is_list else texts[0],
        detected_language=None if not detects else detected if is_list else detected[0],
        alternatives=None if not has_others else others if is_list else others[0],
    )


def _detection(found: Detection) -> LibreDetection:
    return LibreDetection(confidence=round(100 * found.probability), language=found.language)


def _first_target(request: Request, directions: Sequence[Pairing]) -> str:
    """A target language that the reader's browser prefers, or any."""
    targets = sorted({direction.target for direction in directions})
    accepted = request.headers.get("accept-language", "").split(",")
    preferred = [tag.partition(";")[0].strip() for tag in accepted]
    found = negotiate_locale(preferred, targets, sep="-")
    others = [language for language in targets if language != "en"]
    return str(found) if found else [*others, *targets, "en"][0]


async def _done(server: Dependencies, job: DocumentJob) -> DocumentJob | None:
    """The job when it is done or failed; None if it is unfinished when the time is up."""
    patience = min(_PATIENCE * server.config.limits.seconds, time_left())
    settled = await server.jobs.settled(job, patience)
    if settled is None:
        raise _not_found()
    return settled if settled.state in {"done", "error"} else None


def _not_found() -> RefusedError:
    return RefusedError("not_found", "there is no such file, or it was deleted since")


def _is_over(job: DocumentJob) -> bool:
    """Whether the time in which a file can be fetched has passed."""
    if job.state not in {"done", "error"} or job.changed is None:
        return False
    return datetime.now(UTC) - job.changed > _KEPT


def _refuse(error: RefusedError, status: int) -> Response:
    """An error in LibreTranslate's format, which has a single status for everything too large."""
    known = {401: 403, 403: 403, 404: 404, 405: 405, 429: 429}
    message = f"Slowdown: {error}" if status == 429 else str(error)
    found = status if status >= 500 else known.get(status, 400)
    return JSONResponse({"error": message}, status_code=found)


LIBRETRANSLATE = Api("libretranslate", _PREFIXES, router, _refuse)
