"""Files of strings, through translations that are known."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.documents.filetypes import FileLanguages, OpenDocument, document_format
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.translation.service.translated_text import TranslatedText


def opened(
    name: str, content: str | bytes, target: str = "de", source: str | None = None
) -> OpenDocument:
    raw = content.encode() if isinstance(content, str) else content
    return document_format(name).read(raw, FileLanguages(source, target))


def texts(name: str, content: str | bytes, target: str = "de") -> list[str]:
    return [one.text for one in opened(name, content, target).texts]


def written(document: OpenDocument, by: Callable[[str], str] = str.upper) -> bytes:
    return document.written(
        [
            place_marks(one, TranslatedText(by(one.text), "", "", None, ()), document.escape)
            for one in document.texts
        ]
    )


def translated(
    name: str,
    content: str | bytes,
    target: str = "de",
    source: str | None = None,
    by: Callable[[str], str] = str.upper,
) -> str:
    return written(opened(name, content, target, source), by).decode()
