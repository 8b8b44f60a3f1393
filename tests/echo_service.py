"""A translation service without models: words in capitals, so that every answer is known."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Sequence

from dragoman.text.language_codes import base_language
from dragoman.translation.service.interface import Pairing, RefusedError, TextRequest
from dragoman.translation.service.translated_text import (
    Detection,
    Link,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)

_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*[.!?]?")


class EchoService:
    """Answers "Hello you." into ``de`` with "HELLO YOU.de", its second best with "HELLO YOU.de 2".

    A text in the language that it is wanted in is left as it is.  One that contains "busy" is
    refused as such; German is detected by "der", all else as English.  Into German there are the
    tags ``<formal>`` and ``<informal>``.  The calls are in ``calls``.
    """

    def __init__(self, *pairs: tuple[str, str], seconds: float = 0) -> None:
        given = pairs or (("en", "de"), ("de", "en"), ("en", "fr"))
        self._pairs = sorted(Pairing(*pair) for pair in given)
        self._seconds = seconds
        self.calls: list[list[TextRequest]] = []

    def directions(self) -> list[Pairing]:
        return list(self._pairs)

    def is_ready(self) -> bool:
        return True

    def tags(self, direction: Pairing) -> tuple[str, ...]:
        return ("<formal>", "<informal>") if direction.target == "de" else ()

    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        self.calls.append(list(requests))
        await asyncio.sleep(self._seconds)
        return [self._translated(request) for request in requests]

    async def stream(
        self, request: TextRequest, *, seconds: float | None = None
    ) -> AsyncIterator[TranslatedSentence]:
        self.calls.append([request])
        left = math.inf if seconds is None else seconds
        for sentence in self._translated(request).sentences:
            await asyncio.sleep(min(self._seconds, left))
            left -= self._seconds
            if left < 0:
                raise RefusedError("timed_out", "the translation was not ready")
            yield sentence

    async def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        return [_detected(text) if text.strip() else [] for text in texts]

    async def detect_sources(self, texts: Sequence[str], target: str) -> list[Detection]:
        into = target.lower().partition("-")[0]
        among = {into, *(pair.source for pair in self._pairs if pair.target == into)}
        ranked = map(_detected, texts)
        return [next((one for one in each if one.language in among), each[0]) for each in ranked]

    def _translated(self, request: TextRequest) -> TranslatedText:
        detection = None if request.source else _detected(request.text)[0]
        source = request.source or _detected(request.text)[0].language
        source, target = base_language(source), base_language(request.target)
        if source == target:
            return TranslatedText(request.text, source, target, detection, ())
        if (source, target) not in {tuple(map(base_language, pair)) for pair in self._pairs}:
            raise RefusedError("unsupported", f"no model translates from {source} to {target}")
        if "busy" in request.text:
            raise RefusedError("busy", "too many texts are waiting; try again later", 2)
        parts, sentences, end, length = [], [], 0, 0
        for found in _SENTENCE.finditer(request.text):
            parts.append(request.text[end : found.start()])
            length += len(parts[-1])
            sentences.append(_sentence(found[0], found.start(), length, target, request))
            parts.append(sentences[-1].renderings[0].text)
            length += len(parts[-1])
            end = found.end()
        parts.append(request.text[end:])
        return TranslatedText("".join(parts), source, target, detection, tuple(sentences))


def _sentence(
    text: str, start: int, target_start: int, target: str, request: TextRequest
) -> TranslatedSentence:
    words = [Link(*word.span(), *word.span()) for word in re.finditer(r"\S+", text)]
    renderings = [
        Rendering(
            f"{request.prefix}{text.upper()}{target}" + (f" {rank}" if rank > 1 else ""),
            score=-0.1 * rank,
            confidence=1 / rank,
            links=tuple(words) if request.links else (),
        )
        for rank in range(1, request.nbest + 1)
    ]
    return TranslatedSentence(text, start, tuple(renderings), target_start)


def _detected(text: str) -> list[Detection]:
    german = "der" in text.lower().split()
    sure = [Detection("de", 0.9), Detection("en", 0.1)]
    return sure if german else [Detection("en", 0.8), Detection("de", 0.2)]
