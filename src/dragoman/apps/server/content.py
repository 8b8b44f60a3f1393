"""Texts with markup, and files, through a service that knows plain text only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.translation.service.interface import (
    RefusedError,
    TextRequest,
    TranslatedText,
    TranslationService,
)

ContentFormat = Literal["text", "html", "xml"]


@dataclass(frozen=True)
class MarkupOptions:
    """How markup is read, beside what the format says."""

    ignored_tags: tuple[str, ...] = ()
    """Elements whose content is not translated."""
    splitting_tags: tuple[str, ...] = ()
    """Elements that begin and end a text of their own."""
    non_splitting_tags: tuple[str, ...] = ()
    """Elements that do not, whatever the format says."""


@dataclass(frozen=True)
class TranslatedFile:
    """A translated file."""

    name: str
    """Suggested: the name that it came with, and the target language."""
    content: bytes
    media_type: str
    source: str
    """Its language, given or detected."""
    characters: int
    """Of the text that was translated."""


FILE_FORMATS = (".txt", ".html", ".htm")
"""Suffixes of the files that can be translated."""


async def translate_contents(
    service: TranslationService,
    requests: Sequence[TextRequest],
    kind: ContentFormat = "text",
    markup: MarkupOptions | None = None,
    *,
    seconds: float | None = None,
) -> list[TranslatedText]:
    """Translate texts whose markup, if they have any, is kept in place and well-formed.

    Args:
        service: translates what is between the tags.
        requests: the texts; ``prefix``, ``nbest`` and ``links`` are for plain text.
        kind: the format of all of them.
        markup: how it is read.
        seconds: as in ``service.translate``.

    Returns:
        Of texts with markup, ``sentences`` is empty.

    Raises:
        RefusedError: those of the service; ``invalid``, if XML is not well-formed.
    """
    if kind != "text":
        raise RefusedError("invalid", f"{kind} is not translated yet")
    return await service.translate(requests, seconds=seconds)


async def translate_file(
    service: TranslationService,
    name: str,
    content: bytes,
    request: TextRequest,
    *,
    seconds: float | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> TranslatedFile:
    """Translate a file of a format in ``FILE_FORMATS``.

    Args:
        service: translates its text.
        name: as the client calls the file; only its suffix counts.
        content: the file.
        request: languages, glossary and the like; its text is not read.
        seconds: for the whole file; None: as long as it takes.
        progress: called with the texts done so far and their total number.

    Raises:
        RefusedError: those of the service; ``invalid``, if the format is unknown, or the file is
            not UTF-8 (or UTF-16 with a byte order mark) or has no text.
    """
    raise RefusedError("invalid", "files are not translated yet")
