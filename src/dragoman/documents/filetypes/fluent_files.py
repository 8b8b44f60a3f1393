"""Strings of Mozilla's Fluent: ``main.ftl``."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import override

from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument, replacement
from dragoman.text.character_encoding import decode
from dragoman.text.string_files.fluent_entries import read_fluent

_MESSAGE, _ATTRIBUTE = 4, 8
"""Spaces in front of the further lines of a value."""


class FluentFile(DocumentFormat):
    """Messages and terms of Fluent, with their attributes and variants."""

    name = "Fluent"
    family = "translation files"
    suffixes = (".ftl",)
    media_type = "text/plain"
    packages = ("fluent.syntax",)

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding = decode(content, is_page=False)
        return SplicedDocument(text, encoding, list(_slots(text, languages.target)))


def _slots(text: str, language: str) -> Iterator[Slot]:
    newline = "\r\n" if "\r\n" in text else "\n"
    for key, pattern in read_fluent(text):
        from dragoman.documents.strings.fluent_patterns import FluentValue  # needs the parser

        assert pattern.span is not None
        start, stop = pattern.span.start, pattern.span.end
        start += len(text[start:stop]) - len(text[start:stop].lstrip())
        column = _MESSAGE if len(key) == 1 else _ATTRIBUTE
        value = FluentValue(pattern, text[start:stop], language, column)
        yield replacement(
            start,
            stop,
            value,
            lambda found: found.replace("\r\n", "\n").replace("\n", newline),
            key=key,
        )
