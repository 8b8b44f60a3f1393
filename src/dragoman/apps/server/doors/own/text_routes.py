"""The routes for texts: translate, stream, detect, languages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import aclosing

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from dragoman.apps.server.content import translate_contents
from dragoman.apps.server.doors.own.answered import (
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
from dragoman.apps.server.doors.own.asked import DetectBody, StreamBody, TranslateBody
from dragoman.apps.server.doors.own.caller import admitted, requests_of
from dragoman.apps.server.languages import language_name
from dragoman.apps.server.premises import Premises
from dragoman.core.config import Config
from dragoman.translation.service.interface import (
    Detection,
    RefusedError,
    TextRequest,
    TranslatedSentence,
)

STREAM_TYPE = "application/x-ndjson"


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
            responses={200: {"model": StreamEvent, "content": {STREAM_TYPE: {}}}},
        )(self.stream)
        router.post("/detect", response_model=DetectAnswer)(self.detect)
        router.get("/languages", response_model=LanguagesAnswer)(self.languages)

    async def translate(self, request: Request, body: TranslateBody) -> Response:
        """Translate a text, or a list of texts.

        A list is translated together, which is much faster than one text after another.
        """
        key = await admitted(self._premises, request, body.texts)
        wanted = await requests_of(self._premises, body, body.texts, key)
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

        The answer is JSON objects, one in a line (NDJSON): first `start`, then a `sentence` for
        each, then `end`; or an `error` in place of what is missing.
        """
        key = await admitted(self._premises, request, [body.text])
        (wanted,) = await requests_of(self._premises, body, [body.text], key)
        events = self._events(wanted)
        first = await anext(events)  # what is refused at once has a status of its own
        return StreamingResponse(_lines(first, events), media_type=STREAM_TYPE)

    async def detect(self, request: Request, body: DetectBody) -> Response:
        """Say which languages a text may be in."""
        await admitted(self._premises, request, body.texts)
        return as_json(DetectAnswer.of(await self._premises.service.detect(body.texts)))

    async def languages(self, request: Request) -> Response:
        """List the languages, and what each is translated into."""
        await admitted(self._premises, request)
        targets: dict[str, list[str]] = defaultdict(list)
        for pair in self._premises.service.directions():
            targets[pair.source].append(pair.target)
        found = [
            LanguageAnswer(code=code, name=language_name(code), targets=tuple(into))
            for code, into in sorted(targets.items())
        ]
        return as_json(LanguagesAnswer(languages=tuple(found)))

    async def _events(self, wanted: TextRequest) -> AsyncIterator[StreamEvent]:
        """The first raises what refuses the whole text."""
        wanted, detection = await self._with_source(wanted)
        start = StreamEvent(
            kind="start",
            source=wanted.source,
            target=wanted.target,
            detection=DetectedLanguage.of(detection),
        )
        seconds = self._premises.config.limits.seconds
        async with aclosing(self._premises.service.stream(wanted, seconds=seconds)) as sentences:
            first = await anext(sentences, None)
            yield start
            if first is not None:
                yield _sentence(first)
            async for sentence in sentences:
                yield _sentence(sentence)
        yield StreamEvent(kind="end")

    async def _with_source(self, wanted: TextRequest) -> tuple[TextRequest, Detection | None]:
        """The request with a source language, detected unless given or the text is empty."""
