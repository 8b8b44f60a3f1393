"""``Client``: calls a Dragoman server from Python, and waits for the answers."""

from __future__ import annotations

import os
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Unpack, overload

from dragoman.client.asynchronous import AsyncClient
from dragoman.client.loop_thread import LoopThread
from dragoman.client.text_calls import Several, TranslateOptions
from dragoman.client.values import CharacterUsage, GlossaryOffer, LanguageOffer
from dragoman.core.errors import UsageError
from dragoman.translation.service.translated_text import (
    Detection,
    TranslatedSentence,
    TranslatedText,
)


class Client:
    """Calls a Dragoman server as :class:`AsyncClient` does, and waits for the answers.

    Several threads may share it.  Use it in a ``with`` block, or close it.  ``async with`` gives
    the :class:`AsyncClient` behind it.

    Args:
        url: address of the server, such as ``http://localhost:5000``.
        key: a key of the server, if it requires one.
        timeout: seconds that a request may take, with its repetitions.

    Raises:
        ConfigError: the address or the time is invalid.
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:5000", key: str | None = None, *, timeout: float = 60.0
    ) -> None:
        self._calls = AsyncClient(url, key, timeout=timeout)
        self._loop = LoopThread(self._calls.close)
        self._forgotten = weakref.finalize(self, self._loop.close)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> AsyncClient:
        return await self._calls.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._calls.__aexit__(kind, error, trace)

    def close(self) -> None:
        """Close all connections."""
        self._loop.close()

    @overload
    def translate(
        self,
        text: str,
        *,
        target: str,
        source: str | None = None,
        **options: Unpack[TranslateOptions],
    ) -> str: ...

    @overload
    def translate(
        self,
        text: Several,
        *,
        target: str,
        source: str | None = None,
        **options: Unpack[TranslateOptions],
    ) -> list[str]: ...

    def translate(
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
            UsageError: the text is neither a string nor a list of strings, an option cannot be
                written as JSON, or this client is closed.
        """
        call: Coroutine[Any, Any, str | list[str]] = self._calls.translate(
            text, target=target, source=source, **options
        )
        return self._loop.run(call)

    @overload
    def translate_details(
        self,
        text: str,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> TranslatedText: ...

    @overload
    def translate_details(
        self,
        text: Several,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> list[TranslatedText]: ...

    def translate_details(
        self,
        text: str | Several,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> TranslatedText | list[TranslatedText]:
        """Translations with sentences, scores, confidence, alternatives and word links.

        Arguments and errors are those of :meth:`translate`; ``nbest`` is the number of translations
        of each sentence.
        """
        call: Coroutine[Any, Any, TranslatedText | list[TranslatedText]] = (
            self._calls.translate_details(
                text, target=target, source=source, nbest=nbest, **options
            )
        )
        return self._loop.run(call)

    def stream(
        self,
        text: str,
        *,
        target: str,
        source: str | None = None,
        nbest: int = 1,
        **options: Unpack[TranslateOptions],
    ) -> Iterator[TranslatedSentence]:
        """The sentences of a text, each as soon as it is translated.

        Arguments are those of :meth:`translate_details`, without ``format``.

        Raises:
            ServiceError: as for :meth:`translate`.  After some sentences, also ``cut_off``, if the
                connection ends early.
        """
        sentences = self._calls.stream(text, target=target, source=source, nbest=nbest, **options)
        try:
            while (sentence := self._loop.run(_next(sentences))) is not None:
                yield sentence
        finally:
            with suppress(UsageError):  # closed meanwhile, and with it the stream
                self._loop.run(sentences.aclose())

    @overload
    def detect(self, text: str) -> list[Detection]: ...

    @overload
    def detect(self, text: Several) -> list[list[Detection]]: ...

    def detect(self, text: str | Several) -> list[Detection] | list[list[Detection]]:
        """The possible languages of a text, most probable first; for a list, those of each text."""
        call: Coroutine[Any, Any, list[Detection] | list[list[Detection]]] = self._calls.detect(
            text
        )
        return self._loop.run(call)

    def languages(self) -> list[LanguageOffer]:
        """The source languages of the server, with their target languages."""
        return self._loop.run(self._calls.languages())

    def translate_file(
        self,
        path: str | os.PathLike[str],
        output: str | os.PathLike[str],
        *,
        target: str,
        source: str | None = None,
        glossary: Mapping[str, str | Sequence[str]] | str | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> None:
        """Translate a file on the server, however long it takes.

        Arguments and errors are those of :meth:`AsyncClient.translate_file`.  ``progress`` is
        called in another thread, with the finished share, from 0 to 1.
        """
        call = self._calls.translate_file(
            path, output, target=target, source=source, glossary=glossary, progress=progress
        )
        self._loop.run(call)

    def correct(self, text: str, translation: str, *, source: str, target: str) -> int:
        """Send a better translation for review; returns its number."""
        return self._loop.run(self._calls.correct(text, translation, source=source, target=target))

    def create_glossary(
        self, name: str, entries: Mapping[str, str], *, source: str, target: str
    ) -> GlossaryOffer:
        """Keep terms on the server; ``translate(glossary=...)`` takes the glossary's ``id``."""
        return self._loop.run(
            self._calls.create_glossary(name, entries, source=source, target=target)
        )

    def replace_glossary(
        self, identifier: str, name: str, entries: Mapping[str, str], *, source: str, target: str
    ) -> GlossaryOffer:
        """Replace the name of a glossary and its terms of one direction, or add a direction."""
        return self._loop.run(
            self._calls.replace_glossary(identifier, name, entries, source=source, target=target)
        )

    def glossaries(self) -> list[GlossaryOffer]:
        """The glossaries of the key, without their terms."""
        return self._loop.run(self._calls.glossaries())

    def glossary(self, identifier: str) -> GlossaryOffer:
        """A glossary with its terms."""
        return self._loop.run(self._calls.glossary(identifier))

    def delete_glossary(self, identifier: str) -> None:
        """Delete a glossary."""
        self._loop.run(self._calls.delete_glossary(identifier))

    def usage(self) -> CharacterUsage:
        """The usage of the key in this month."""
        return self._loop.run(self._calls.usage())


async def _next(sentences: AsyncIterator[TranslatedSentence]) -> TranslatedSentence | None:
    return await anext(sentences, None)
