"""Calls about data that a server keeps: corrections, glossaries, files, usage."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from dragoman.client.connection import Calls, Sending
from dragoman.client.saving import write_whole
from dragoman.client.values import (
    CharacterUsage,
    DocumentState,
    GlossaryOffer,
    document_state_of,
    glossary_offer_of,
)
from dragoman.core.arguments import check_path, check_text
from dragoman.core.errors import DataError, ServiceError, UsageError

_FIRST_LOOK, _LONGEST_LOOK = 0.1, 2.0  # seconds between requests for the state of a file


class KeptCalls(Calls):
    """Calls about corrections, glossaries, files and usage."""

    async def correct(self, text: str, translation: str, *, source: str, target: str) -> int:
        """Send a better translation for review; returns its number."""
        body = {"text": text, "translation": translation, "source": source, "target": target}
        return await self._asked(
            Sending("POST", "/v1/corrections", {"json": body}), lambda answer: int(answer["id"])
        )

    async def create_glossary(
        self, name: str, entries: Mapping[str, str], *, source: str, target: str
    ) -> GlossaryOffer:
        """Keep terms on the server; ``translate(glossary=...)`` takes the glossary's ``id``."""
        body = {"name": name, "source": source, "target": target, "entries": dict(entries)}
        sending = Sending("POST", "/v1/glossaries", {"json": body}, repeatable=False)
        return await self._asked(sending, glossary_offer_of)

    async def replace_glossary(
        self, identifier: str, name: str, entries: Mapping[str, str], *, source: str, target: str
    ) -> GlossaryOffer:
        """Replace the name of a glossary and its terms of one direction, or add a direction."""
        body = {"name": name, "source": source, "target": target, "entries": dict(entries)}
        sending = Sending("PUT", _glossary(identifier), {"json": body})
        return await self._asked(sending, glossary_offer_of)

    async def glossaries(self) -> list[GlossaryOffer]:
        """The glossaries of the key, without their terms."""
        return await self._asked(
            Sending("GET", "/v1/glossaries"),
            lambda answer: list(map(glossary_offer_of, answer["glossaries"])),
        )

    async def glossary(self, identifier: str) -> GlossaryOffer:
        """A glossary with its terms."""
        return await self._asked(Sending("GET", _glossary(identifier)), glossary_offer_of)

    async def delete_glossary(self, identifier: str) -> None:
        """Delete a glossary."""
        sending = Sending("DELETE", _glossary(identifier), repeatable=False)
        await self._connection.send(sending)

    async def usage(self) -> CharacterUsage:
        """The usage of the key in this month."""
        return await self._asked(
            Sending("GET", "/v1/usage"),
            lambda answer: CharacterUsage(answer["characters"], answer["characters_per_month"]),
        )

    async def translate_file(
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

        Args:
            path: the file, such as ``letter.txt`` or ``page.html``.
            output: the file to write; it appears when the translation is complete.
            target: language code.
            source: language code; None: detected.
            glossary: terms and their translations, or the ``id`` of a kept glossary.
            progress: called with the finished share, from 0 to 1.

        Raises:
            DataError: the file cannot be read.
            ServiceError: the server refuses or cannot be reached, or the file cannot be translated.
            StorageError: the translation cannot be written.
        """
        file, written = check_path(path, "file"), check_path(output, "output")
        try:
            content = await asyncio.to_thread(file.read_bytes)
        except OSError as error:
            raise DataError(f"{file}: cannot be read: {error.strerror}") from error
        terms = json.dumps(dict(glossary)) if isinstance(glossary, Mapping) else glossary
        fields = {"target": target, "source": source, "glossary": terms}
        given = {name: value for name, value in fields.items() if value is not None}
        body = {"data": given, "files": {"file": (file.name, content)}}
        sending = Sending("POST", "/v1/documents", body, repeatable=False)
        state = await self._asked(sending, document_state_of)
        place = f"/v1/documents/{quote(state.id, safe='')}"
        headers = {"headers": {"Document-Secret": state.secret or ""}}
        await self._finished(Sending("GET", place, headers), state, progress)
        found = await self._connection.send(Sending("GET", f"{place}/result", headers))
        await asyncio.to_thread(write_whole, written, found.content)

    async def _finished(
        self,
        sending: Sending,
        state: DocumentState,
        progress: Callable[[float], object] | None,
    ) -> None:
        """Wait until a file is translated.

        Raises:
            ServiceError: the file cannot be translated.
        """
        pause = _FIRST_LOOK
        while state.state != "done":
            if state.state == "error":
                raise ServiceError(state.message or "the file cannot be translated", "invalid")
            if progress is not None and state.progress is not None:
                progress(state.progress)
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_LOOK)
            state = await self._asked(sending, document_state_of)
        if progress is not None:
            progress(1.0)


def _glossary(identifier: str) -> str:
    """The path of a glossary.

    Raises:
        UsageError: the identifier is empty or not a string.
    """
    if not check_text(identifier, "identifier"):
        raise UsageError("identifier: it is empty; give that of a glossary")
    return f"/v1/glossaries/{quote(identifier, safe='')}"
