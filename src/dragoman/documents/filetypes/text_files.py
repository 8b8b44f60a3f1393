"""Documents that are one text: plain ones, and pages of HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from typing_extensions import override

from dragoman.documents.character_encoding import CharacterEncoding, decode
from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.html import read_html
from dragoman.documents.marks.marked_document import MarkedDocument
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.marks.marking import placeholders
from dragoman.documents.marks.outline import OutlineBlock, placeholders_of
from dragoman.text.sentences import split_text


class TextDocument(OpenDocument):
    """A document that is one text in some encoding.

    Args:
        document: the text.
        encoding: as it came.
        is_markup: whether it is written as HTML and XML are.
    """

    def __init__(
        self, document: MarkedDocument, encoding: CharacterEncoding, *, is_markup: bool
    ) -> None:
        self._document, self._encoding, self._is_markup = document, encoding, is_markup
        self._texts = document.texts

    @property
    @override
    def texts(self) -> Sequence[MarkedText]:
        return self._texts

    @property
    @override
    def outline(self) -> Sequence[OutlineBlock]:
        return self._document.blocks

    @property
    @override
    def escape(self) -> Callable[[str], str] | None:
        return None if self._is_markup else _on_one_line

    @override
    def written(self, translations: Sequence[str]) -> bytes:
        joined = self._document.joined(translations)
        return self._encoding.encode(joined, is_markup=self._is_markup)


class PlainTextFile(DocumentFormat):
    """Plain text, whose lines are texts of their own."""

    name = "plain text"
    suffixes = (".txt",)
    media_type = "text/plain"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> TextDocument:
        text, encoding = decode(content, is_page=False)
        return TextDocument(_lines(text), encoding, is_markup=False)


class HtmlFile(DocumentFormat):
    """Pages of HTML."""

    name = "HTML"
    suffixes = (".html", ".htm")
    media_type = "text/html"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> TextDocument:
        text, encoding = decode(content, is_page=True)
        return TextDocument(read_html(text), encoding, is_markup=True)


def _on_one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _lines(text: str) -> MarkedDocument:
    """The lines of a plain text, as texts without tags."""
    document = MarkedDocument()
    end = number = 0
    for one in split_text(text, "", "paragraphs"):
        line = text[one.start : one.end]
        document.parts.append(text[end : one.start])
        end = one.end
        if any(map(str.isalpha, line)):
            marked = MarkedText(line, placeholders(line))
            document.parts.append(marked)
            kept = placeholders_of([marked])
            document.blocks.append(OutlineBlock(text=line, kept=kept, texts=[number]))
            number += 1
        else:
            document.parts.append(line)
            document.blocks.append(OutlineBlock(text=line))
    document.parts.append(text[end:])
    return document
