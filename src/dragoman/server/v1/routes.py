"""Dragoman's own API, ``/v1``, as a whole, with its routes for texts, languages and health."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

import dragoman
from dragoman.core.config import Config
from dragoman.documents.content import translate_contents
from dragoman.server.dependencies import Api, Server, time_left
from dragoman.server.language_names import language_name
from dragoman.server.v1 import kept_routes
from dragoman.server.v1.access import MANUAL, PREFIX, StrictRoute, admit, requests_of
from dragoman.server.v1.manual import STYLE, manual_page
from dragoman.server.v1.requests import DetectBody, StreamBody, TranslateBody
from dragoman.server.v1.responses import (
    DetectAnswer,
    DetectedLanguage,
    ErrorAnswer,
    HealthAnswer,
    LanguageAnswer,
    LanguagesAnswer,
    Problem,
    SentenceAnswer,
    StreamEvent,
    TranslateAnswer,
)
from dragoman.translation.service.interface import (
    Pairing,
    RefusedError,
    TextRequest,
    TranslationService,
)
from dragoman.translation.service.translated_text import Detection, TranslatedSentence

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


_UNBUFFERED = {"X-Accel-Buffering": "no"}  # for nginx, which would otherwise delay events


class StreamForm(NamedTuple):
    """The format of a stream."""

    media_type: str
    write: Callable[[StreamEvent], str]


def _line(event: StreamEvent) -> str:
    return event.model_dump_json(exclude_unset=True) + "\n"


def _server_sent(event: StreamEvent) -> str:
    """An event in the format of browsers and many libraries (HTML Living Standard, 9.2).

    It has no ``event:`` line, so that ``onmessage`` receives it.  Its JSON has no line breaks.
    """
    return f"data: {event.model_dump_json(exclude_unset=True)}\n\n"


STREAM_FORMS = (
    StreamForm("application/x-ndjson", _line),
    StreamForm("text/event-stream", _server_sent),
)
"""The first is the default for clients without a preference."""


_texts = APIRouter(prefix=PREFIX, route_class=StrictRoute)


@_texts.post("/translate", response_model=TranslateAnswer)
async def translate(request: Request, body: TranslateBody, server: Server) -> Response:
    """Translate a text, or a list of texts.

    A list is translated together, which is much faster than one text after another.
    """
    key = await admit(server, request, body.text)
    requests = await requests_of(server, body, body.text, key)
    translated = await translate_contents(
        server.service, requests, body.format, seconds=server.config.limits.seconds
    )
    return as_json(TranslateAnswer.model_validate({"translations": translated}))


@_texts.post(
    "/stream",
    response_class=StreamingResponse,
    responses={
        200: {"model": StreamEvent, "content": {form.media_type: {} for form in STREAM_FORMS}}
    },
)
async def stream(request: Request, body: StreamBody, server: Server) -> Response:
    """Translate a text, and get each sentence as soon as it is translated.

    The answer is JSON objects: first `start`, then a `sentence` for each, then `end`; or an
    `error` in place of what is missing. They are lines (NDJSON), or, for a request with
    `Accept: text/event-stream`, the data of server-sent events.
    """
    key = await admit(server, request, [body.text])
    (text_request,) = await requests_of(server, body, [body.text], key)
    events = _events(server.service, text_request)
    first = await anext(events)  # an immediate refusal has its status code
    form = preferred_form(request.headers.get("Accept", ""))
    return StreamingResponse(
        _lines(first, events, form), media_type=form.media_type, headers=_UNBUFFERED
    )


@_texts.post("/detect", response_model=DetectAnswer)
async def detect(request: Request, body: DetectBody, server: Server) -> Response:
    """Say which languages a text may be in."""
    await admit(server, request, body.text)
    detections = await server.service.detect(list(body.text))
    return as_json(DetectAnswer.model_validate({"detections": detections}))


@_texts.get("/languages", response_model=LanguagesAnswer)
async def languages(request: Request, server: Server) -> Response:
    """List the languages, and what each is translated into."""
    await admit(server, request)
    service = server.service
    by_source: dict[str, list[Pairing]] = defaultdict(list)
    for pair in service.directions():
        by_source[pair.source].append(pair)
    listed = [
        LanguageAnswer(
            code=code,
            name=language_name(code),
            targets=tuple(pair.target for pair in pairs),
            tags={pair.target: tags for pair in pairs if (tags := service.tags(pair))},
        )
        for code, pairs in sorted(by_source.items())
    ]
    return as_json(LanguagesAnswer(languages=tuple(listed)))


_about_itself = APIRouter(prefix=PREFIX, route_class=StrictRoute)
_habits = APIRouter(include_in_schema=False)


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


@_habits.get("/docs")
async def docs_of_habit() -> Response:
    """Lead to the description, from where FastAPI's own would be."""
    return RedirectResponse(MANUAL.removeprefix("/"))


def _refused(error: RefusedError, status: int) -> Response:
    if status in _PATHS:
        error = RefusedError(error.kind, _PATHS[status])
    response = as_json(ErrorAnswer(error=Problem.of(error)))
    response.status_code = status
    return response


router = APIRouter(
    responses={
        code: {"model": ErrorAnswer, "description": text} for code, text in _REFUSALS.items()
    }
)
for _part in (_texts, kept_routes.router, _about_itself, _habits):
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


async def _events(
    service: TranslationService, request: TextRequest
) -> AsyncGenerator[StreamEvent, None]:
    """The events of a stream; the first step raises the error if the whole text is refused."""
    request, detection = await _with_source(service, request)
    sentences = service.stream(request, seconds=time_left())
    try:
        first = await anext(sentences, None)
        yield StreamEvent(
            kind="start",
            source=request.source,
            target=request.target,
            detection=DetectedLanguage.model_validate(detection) if detection else None,
        )
        if first is not None:
            yield _of(first)
        async for sentence in sentences:
            yield _of(sentence)
        yield StreamEvent(kind="end")
    finally:
        if isinstance(sentences, AsyncGenerator):
            await sentences.aclose()  # so that unread sentences leave the queue


async def _with_source(
    service: TranslationService, request: TextRequest
) -> tuple[TextRequest, Detection | None]:
    """The request with its source language, which is detected if not given."""
    if request.source is not None:
        return request, None
    (detection,) = await service.detect_sources([request.text], request.target)
    return replace(request, source=detection.language), detection


def as_json(answer: Config) -> Response:
    """An answer that needs no further validation."""
    return Response(answer.model_dump_json(), media_type="application/json")


def _of(sentence: TranslatedSentence) -> StreamEvent:
    return StreamEvent(kind="sentence", sentence=SentenceAnswer.model_validate(sentence))


async def _lines(
    first: StreamEvent, events: AsyncGenerator[StreamEvent, None], form: StreamForm
) -> AsyncGenerator[str, None]:
    """The events of a stream; an error ends it as the last event."""
    async with aclosing(events):
        yield form.write(first)
        try:
            async for event in events:
                yield form.write(event)
        except RefusedError as error:
            yield form.write(StreamEvent(kind="error", error=Problem.of(error)))


def preferred_form(accept: str) -> StreamForm:
    """The stream format that the header ``Accept`` of a request prefers (RFC 9110, 12.5.1).

    A client that accepts neither gets lines of JSON, as a refusal would not help it.
    """
    qualities = {}
    for part in accept.split(","):
        media_type, *parameters = (one.strip().lower() for one in part.split(";"))
        qualities[media_type] = _quality(parameters)
    return max(STREAM_FORMS, key=lambda form: qualities.get(form.media_type, 0))


def _quality(parameters: list[str]) -> float:
    """The quality value, from 0 to 1; an invalid value counts as absent."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                break
    return 1.0
