"""``dragoman.Client``: a server of Dragoman's, called from Python."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, overload

from dragoman.apps.client.connection import Connection, Sending, foreign_answer
from dragoman.apps.client.values import (
    CharacterUsage,
    GlossaryOffer,
    LanguageOffer,
    detection_of,
    glossary_offer_of,
    language_of,
    sentence_of,
    text_of,
)
from dragoman.core.arguments import check_lines, check_path, check_text
from dragoman.core.errors import DataError, ServiceError
from dragoman.core.files import atomic_write
from dragoman.translation.service.interface import (
    Detection,
    TranslatedSentence,
    TranslatedText,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Value = TypeVar("_Value")

# Parts in which a list is sent, and how many at a time: below the bounds of servers, and enough
# for full batches there.
_ITEMS, _CHARACTERS = 64, 20_000
_AT_ONCE = 4
_FIRST_LOOK, _LONGEST_LOOK = 0.1, 2.0  # seconds between questions for the state of a file


class TranslateOptions(TypedDict, total=False):
    """How texts are translated; each is described on the page ``/v1/docs`` of a server."""

    prefix: str
    split: Literal["sentences", "flowing", "paragraphs", "none"]
    tags: Sequence[str]
    glossary: Mapping[str, str | Sequence[str]] | str
    context: str
    links: bool
    memory: bool
    format: Literal["text", "html", "xml"]


class Client:
    """Calls a server of Dragoman's; use it with ``async with``, or close it.

    Requests are repeated while the server is busy or cannot be reached, until ``timeout``.

    Args:
        url: address of the server, such as ``http://localhost:5000``.
        key: a key of the server, if it demands one.
        timeout: seconds that a request may take, with its repetitions.

    Raises:
        ConfigError: the address or the time makes no sense.
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:5000", key: str | None = None, *, timeout: float = 60.0
    ) -> None:
        self._connection = Connection(check_text(url, "url"), key, timeout)
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._connection.close()

    # Texts

    @overload
    async def translate(
        self, text: str, *, target: str, source: str | None = None, **options: Unpack[TranslateOptions]
    ) -> str: ...

    @overload
    async def translate(
        self,
        text: Sequence[str],
        *,
        target: str,
        source: str | None = None,
        **options: Unpack[TranslateOptions],
    ) -> list[str]: ...

    async def translate(
        self,
        text: str | Sequence[str],
        *,
        target: str,
        source: str | None = None,
        **options: Unpack[TranslateOptions],
    ) -> str | list[str]:
        """The translation of a text, or a list of those of several.

        Args:
            text: a text of any length, or a list of texts.
            target: language code, such as ``de``.
            source: language code; None: detected.
            options: see :class:`TranslateOptions`.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
            UsageError: the text is no string and no list of strings.
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
        text: Sequence[str],
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> list[TranslatedText]: ...

    async def translate_details(
        self,
        text: str | Sequence[str],
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> TranslatedText | list[TranslatedText]:
        """Everything about the translation of a text, or of each of several.

        Args:
            text: as for :meth:`translate`.
            target: as there.
            source: as there.
            nbest: how many translations of each sentence are wanted.
            options: as there.

        Raises:
            ServiceError: as there.
            UsageError: as there.
        """
        single = isinstance(text, str)
        texts = [text] if isinstance(text, str) else list(check_lines(text, "text"))
        common = {"target": target, "source": source, "nbest": nbest, **options}
        parts = [
            asyncio.ensure_future(self._translated({**common, "text": part}))
            for part in _parts(texts)
        ]
        try:
            found = [one for part in await asyncio.gather(*parts) for one in part]
        finally:
            for part in parts:
                part.cancel()  # the others, if one failed
        return found[0] if single else found

    async def stream(
        self,
        text: str,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> AsyncIterator[TranslatedSentence]:
        """The sentences of a text, each as soon as it is translated.

        Args:
            text: a text of any length.
            target: as for :meth:`translate`.
            source: as there.
            nbest: how many translations of each sentence are wanted.
            options: as there, except ``format``.

        Raises:
            ServiceError: as there; also in the middle: ``cut_off``, if the connection ends early.
        """
        body = {"target": target, "source": source, "nbest": nbest, **options}
        sending = Sending("POST", "/v1/stream", {"json": {**body, "text": check_text(text, "text")}})
        async with self._connection.lines(sending) as lines:
            async for line in lines:
                event = self._read(json.loads, line)
                if event.get("kind") == "end":
                    return
                if event.get("kind") == "sentence":
                    yield self._read(lambda one: sentence_of(one["sentence"]), event)
                elif event.get("kind") == "error":
                    problem = event["error"]
                    raise ServiceError(
                        problem["message"],
                        problem["kind"],
                        status=200,
                        retry_after=problem.get("retry_after"),
                    )
        raise ServiceError(
            f"{self._connection.url}: the connection ended before the text was translated; "
            "try again",
            "cut_off",
        )

    @overload
    async def detect(self, text: str) -> list[Detection]: ...

    @overload
    async def detect(self, text: Sequence[str]) -> list[list[Detection]]: ...

    async def detect(self, text: str | Sequence[str]) -> list[Detection] | list[list[Detection]]:
        """The languages that a text may be in, the most probable first; or lists of these.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        texts = [text] if isinstance(text, str) else list(check_lines(text, "text"))
        found = await self._asked(
            Sending("POST", "/v1/detect", {"json": {"text": texts}}),
            lambda answer: [
                [one for one in map(detection_of, each) if one is not None]
                for each in answer["detections"]
            ],
        )
        return found[0] if isinstance(text, str) else found

    async def languages(self) -> list[LanguageOffer]:
        """The languages that the server translates from, and what into.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        return await self._asked(
            Sending("GET", "/v1/languages"),
            lambda answer: list(map(language_of, answer["languages"])),
        )

    async def usage(self) -> CharacterUsage:
        """What the key has used in this month.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        return await self._asked(
            Sending("GET", "/v1/usage"),
            lambda answer: CharacterUsage(answer["characters"], answer["characters_per_month"]),
        )

    # What the server keeps

    async def correct(self, text: str, translation: str, *, source: str, target: str) -> int:
        """Send a better translation, which someone reviews; returns its number.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        body = {"text": text, "translation": translation, "source": source, "target": target}
        return await self._asked(
            Sending("POST", "/v1/corrections", {"json": body}), lambda answer: int(answer["id"])
        )

    async def create_glossary(
        self, name: str, entries: Mapping[str, str], *, source: str, target: str
    ) -> GlossaryOffer:
        """Keep terms on the server; ``translate(glossary=...)`` takes its ``id``.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        body = {"name": name, "source": source, "target": target, "entries": dict(entries)}
        sending = Sending("POST", "/v1/glossaries", {"json": body}, repeatable=False)
        return await self._asked(sending, glossary_offer_of)

    async def replace_glossary(
        self, identifier: str, name: str, entries: Mapping[str, str], *, source: str, target: str
    ) -> GlossaryOffer:
        """Replace the name of a glossary and its terms of one direction, or add a direction.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        body = {"name": name, "source": source, "target": target, "entries": dict(entries)}
        sending = Sending("PUT", f"/v1/glossaries/{_quoted(identifier)}", {"json": body})
        return await self._asked(sending, glossary_offer_of)

    async def glossaries(self) -> list[GlossaryOffer]:
        """The glossaries of the key, without their terms.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        return await self._asked(
            Sending("GET", "/v1/glossaries"),
            lambda answer: list(map(glossary_offer_of, answer["glossaries"])),
        )

    async def glossary(self, identifier: str) -> GlossaryOffer:
        """A glossary with its terms.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        sending = Sending("GET", f"/v1/glossaries/{_quoted(identifier)}")
        return await self._asked(sending, glossary_offer_of)

    async def delete_glossary(self, identifier: str) -> None:
        """Delete a glossary.

        Raises:
            ServiceError: the server refuses, or cannot be reached.
        """
        sending = Sending("DELETE", f"/v1/glossaries/{_quoted(identifier)}", repeatable=False)
        await self._connection.send(sending)
