"""Calls about texts: translate, stream, detect, languages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from dragoman.client.connection import Calls, Connection, Sending, cut_off
from dragoman.client.values import (
    LanguageOffer,
    detection_of,
    language_of,
    sentence_of,
    text_of,
)
from dragoman.core.arguments import check_lines, check_text
from dragoman.core.errors import ServiceError
from dragoman.translation.service.translated_text import (
    Detection,
    TranslatedSentence,
    TranslatedText,
)

# Size of the parts of a list, and parts in parallel: below the limits of servers, and enough for
# full batches there.
_ITEMS, _CHARACTERS = 64, 20_000
AT_ONCE = 4
"""Parts of texts that are at the server at the same time."""

# Proxies that support server-sent events do not buffer them.  An older server sends lines.
_EVENTS = {"Accept": "text/event-stream, application/x-ndjson;q=0.9"}


_Found = TypeVar("_Found")
Several = list[str] | tuple[str, ...]


class TranslateOptions(TypedDict, total=False):
    """Options of a translation; the page ``/v1/docs`` of a server describes each."""

    prefix: str
    split: Literal["sentences", "flowing", "paragraphs", "none"]
    tags: Sequence[str]
    glossary: Mapping[str, str | Sequence[str]] | str
    context: str
    links: bool
    token_scores: bool
    memory: bool
    format: Literal["text", "html", "xml"]


class TextCalls(Calls):
    """Calls about texts."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._slots = asyncio.Semaphore(AT_ONCE)

    @overload
    async def translate(
        self,
        text: str,
        *,
        target: str,
        source: str | None = None,
        **options: Unpack[TranslateOptions],
    ) -> str: ...

    @overload
    async def translate(
        self,
        text: Several,
        *,
        target: str,
        source: str | None = None,
        **options: Unpack[TranslateOptions],
    ) -> list[str]: ...

    async def translate(
        self,
        text: str | Several,
        *,
        target: str,
        source: str | None = None,
        **options: Unpack[TranslateOptions],
    ) -> str | list[str]:
        """The translation of a text, or the translations of a list of texts.

        Args:
            text: a text of any length, or a list of texts.
            target: language code, such as ``de``.
            source: language code; None: detected.
            options: see :class:`TranslateOptions`.

        Raises:
            DataError: a text has half of a surrogate pair.
            ServiceError: the server refuses, or cannot be reached.
            UsageError: the text is neither a string nor a list of strings, or an option cannot be
                written as JSON.
        """
        found = await self.translate_details(text, target=target, source=source, **options)
        return found.text if isinstance(found, TranslatedText) else [one.text for one in found]

    @overload
    async def translate_details(
        self,
        text: str,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> TranslatedText: ...

    @overload
    async def translate_details(
        self,
        text: Several,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> list[TranslatedText]: ...

    async def translate_details(
        self,
        text: str | Several,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> TranslatedText | list[TranslatedText]:
        """The translation of a text with all details, or the translations of a list of texts.

        It raises the errors of :meth:`translate`.

        Args:
            text: a text of any length, or a list of texts.
            target: language code, such as ``de``.
            source: language code; None: detected.
            nbest: number of translations of each sentence.
            options: see :class:`TranslateOptions`.
        """
        single = isinstance(text, str)
        texts = [text] if isinstance(text, str) else list(check_lines(text, "text"))
        common = {"target": target, "source": source, "nbest": nbest, **_sendable(options)}
        found = await self._asked_in_parts(texts, lambda part: self._translated(part, common))
        return found[0] if single else found

    async def stream(
        self,
        text: str,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> AsyncGenerator[TranslatedSentence, None]:
        """The sentences of a text, each as soon as it is translated.

        Args:
            text: a text of any length.
            target: language code, such as ``de``.
            source: language code; None: detected.
            nbest: number of translations of each sentence.
            options: see :class:`TranslateOptions`; without ``format``.

        Raises:
            ServiceError: as for :meth:`translate`.  After some sentences, also ``cut_off``, if the
                connection ends early.
        """
        body = {"target": target, "source": source, "nbest": nbest, **_sendable(options)}
        sending = Sending(
            "POST",
            "/v1/stream",
            {"json": {**body, "text": check_text(text, "text")}, "headers": _EVENTS},
        )
        async with self._connection.lines(sending) as lines:
            async for line in lines:
                if not line:
                    continue  # the end of an event
                kind, found = self._read(_event, line)
                if kind == "end":
                    return
                if isinstance(found, TranslatedSentence):
                    yield found
                elif found is not None:
                    raise found
        raise cut_off(self._connection.url)

    @overload
    async def detect(self, text: str) -> list[Detection]: ...

    @overload
    async def detect(self, text: Several) -> list[list[Detection]]: ...

    async def detect(self, text: str | Sequence[str]) -> list[Detection] | list[list[Detection]]:
        """The possible languages of a text, most probable first; for a list, those of each text."""
        texts = [text] if isinstance(text, str) else list(check_lines(text, "text"))
        found = await self._asked_in_parts(texts, self._detected)
        return found[0] if isinstance(text, str) else found

    async def languages(self) -> list[LanguageOffer]:
        """The source languages of the server, with their target languages."""
        return await self._asked(
            Sending("GET", "/v1/languages"),
            lambda answer: list(map(language_of, answer["languages"])),
        )

    async def _asked_in_parts(
        self, texts: Sequence[str], ask: Callable[[list[str]], Coroutine[Any, Any, list[_Found]]]
    ) -> list[_Found]:
        """The results for a list of texts of any length, which is sent in parts."""
        parts = [asyncio.ensure_future(ask(part)) for part in in_parts(texts)]
        try:
            return [one for part in await asyncio.gather(*parts) for one in part]
        finally:
            for part in parts:
                part.cancel()  # if a part failed, the others

    async def _detected(self, texts: list[str]) -> list[list[Detection]]:
        """Languages of a part of the texts, when its turn comes."""
        async with self._slots:
            return await self._asked(
                Sending("POST", "/v1/detect", {"json": {"text": texts}}),
                lambda answer: [
                    [one for one in map(detection_of, each) if one is not None]
                    for each in _one_each(answer["detections"], texts)
                ],
            )

    async def _translated(
        self, texts: list[str], common: Mapping[str, Any]
    ) -> list[TranslatedText]:
        """Translations of a part of the texts, when its turn comes."""
        async with self._slots:
            return await self._asked(
                Sending("POST", "/v1/translate", {"json": {**common, "text": texts}}),
                lambda answer: list(map(text_of, _one_each(answer["translations"], texts))),
            )


def _one_each(found: Sequence[Any], texts: Sequence[str]) -> Sequence[Any]:
    """The results for some texts, after checking their number.

    Raises:
        ValueError: there is not exactly one result for each text.
    """
    if len(found) != len(texts):
        raise ValueError(f"{len(found)} answers to {len(texts)} texts")
    return found


def _sendable(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as plain JSON values, with mappings as dictionaries."""
    plain = dict(options)
    if isinstance(glossary := plain.get("glossary"), Mapping):
        plain["glossary"] = dict(glossary)
    return plain


def _event(line: str) -> tuple[str, TranslatedSentence | ServiceError | None]:
    """The kind of a line of a stream, and its content."""
    event = json.loads(line.removeprefix("data:"))
    kind = event["kind"]
    if kind == "sentence":
        return kind, sentence_of(event["sentence"])
    if kind == "error":
        problem = event["error"]
        retry_after = problem.get("retry_after")
        return kind, ServiceError(
            problem["message"], problem["kind"], status=200, retry_after=retry_after
        )
    return kind, None


def in_parts(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in parts that servers accept; a longer text is a part by itself."""
    part: list[str] = []
    size = 0
    for text in texts:
        if part and (len(part) == _ITEMS or size + len(text) > _CHARACTERS):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part
