"""The routes for texts: translate, stream, detect, languages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from dragoman.core.config import Config
from dragoman.documents.content import translate_contents
from dragoman.server.dependencies import Premises
from dragoman.server.language_names import language_name
from dragoman.server.request_time import time_left
from dragoman.server.v1.caller import admitted, requests_of
from dragoman.server.v1.requests import DetectBody, StreamBody, TranslateBody
from dragoman.server.v1.responses import (
    DetectAnswer,
    DetectedLanguage,
    LanguageAnswer,
    LanguagesAnswer,
    Problem,
    SentenceAnswer,
    StreamEvent,
    TextAnswer,
    TranslateAnswer,
)
from dragoman.server.v1.stream_forms import STREAM_FORMS, StreamForm, wanted_form
from dragoman.translation.service.interface import (
    Detection,
    Pairing,
    RefusedError,
    TextRequest,
    TranslatedSentence,
)

_UNBUFFERED = {"X-Accel-Buffering": "no"}  # by nginx, which would hold events back


class TextRoutes:
    """What answers requests about texts."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises

    def add_to(self, router: APIRouter) -> None:
        """Add the routes."""
        router.post("/translate", response_model=TranslateAnswer)(self.translate)
        router.post(
            "/stream",
            response_class=StreamingResponse,
            responses={
                200: {"model": StreamEvent, "content": {one.media_type: {} for one in STREAM_FORMS}}
            },
        )(self.stream)
        router.post("/detect", response_model=DetectAnswer)(self.detect)
        router.get("/languages", response_model=LanguagesAnswer)(self.languages)

    async def translate(self, request: Request, body: TranslateBody) -> Response:
        """Translate a text, or a list of texts.

        A list is translated together, which is much faster than one text after another.
        """
        key = await admitted(self._premises, request, body.text)
        wanted = await requests_of(self._premises, body, body.text, key)
        found = await translate_contents(
            self._premises.service,
            wanted,
            body.format,
            seconds=self._premises.config.limits.seconds,
        )
        answers = tuple(map(TextAnswer.of, found))
        return as_json(TranslateAnswer.model_construct(translations=answers))

    async def stream(self, request: Request, body: StreamBody) -> Response:
        """Translate a text, and get each sentence as soon as it is translated.

        The answer is JSON objects: first `start`, then a `sentence` for each, then `end`; or an
        `error` in place of what is missing. They are lines (NDJSON), or, for a request with
        `Accept: text/event-stream`, the data of server-sent events.
        """
        key = await admitted(self._premises, request, [body.text])
        (wanted,) = await requests_of(self._premises, body, [body.text], key)
        events = self._events(wanted)
        first = await anext(events)  # what is refused at once has a status of its own
        form = wanted_form(request.headers.get("Accept", ""))
        return StreamingResponse(
            _written(first, events, form), media_type=form.media_type, headers=_UNBUFFERED
        )

    async def detect(self, request: Request, body: DetectBody) -> Response:
        """Say which languages a text may be in."""
        await admitted(self._premises, request, body.text)
        return as_json(DetectAnswer.of(await self._premises.service.detect(list(body.text))))

    async def languages(self, request: Request) -> Response:
        """List the languages, and what each is translated into."""
        await admitted(self._premises, request)
        service = self._premises.service
        by_source: dict[str, list[Pairing]] = defaultdict(list)
        for pair in service.directions():
            by_source[pair.source].append(pair)
        found = [
            LanguageAnswer(
                code=code,
                name=language_name(code),
                targets=tuple(pair.target for pair in pairs),
                tags={pair.target: tags for pair in pairs if (tags := service.tags(pair))},
            )
            for code, pairs in sorted(by_source.items())
        ]
        return as_json(LanguagesAnswer(languages=tuple(found)))

    async def _events(self, wanted: TextRequest) -> AsyncGenerator[StreamEvent, None]:
        """What a stream tells; the first one raises what refuses the whole text."""
        wanted, detection = await self._with_source(wanted)
        sentences = self._premises.service.stream(wanted, seconds=time_left())
        try:
            first = await anext(sentences, None)
            yield StreamEvent(
                kind="start",
                source=wanted.source,
                target=wanted.target,
                detection=DetectedLanguage.of(detection),
            )
            if first is not None:
                yield _of(first)
            async for sentence in sentences:
                yield _of(sentence)
            yield StreamEvent(kind="end")
        finally:
            if isinstance(sentences, AsyncGenerator):
                await sentences.aclose()  # so that what nobody reads leaves the queue

    async def _with_source(self, wanted: TextRequest) -> tuple[TextRequest, Detection | None]:
        """The request with its source language, which is detected if none is given."""
        if wanted.source is not None:
            return wanted, None
        (found,) = await self._premises.service.detect_sources([wanted.text], wanted.target)
        return replace(wanted, source=found.language), found


def as_json(answer: Config) -> Response:
    """An answer that needs no further validation."""
    return Response(answer.model_dump_json(), media_type="application/json")


def _of(sentence: TranslatedSentence) -> StreamEvent:
    return StreamEvent(kind="sentence", sentence=SentenceAnswer.of(sentence))


async def _written(
    first: StreamEvent, events: AsyncGenerator[StreamEvent, None], form: StreamForm
) -> AsyncGenerator[str, None]:
    """The events of a stream; what goes wrong in the middle is the last of them."""
    async with aclosing(events):
        yield form.write(first)
        try:
            async for event in events:
                yield form.write(event)
        except RefusedError as error:
            yield form.write(StreamEvent(kind="error", error=Problem.of(error)))
