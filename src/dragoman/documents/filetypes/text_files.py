"""Documents that are one text: plain ones, and pages of HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from typing_extensions import override

from dragoman.documents.document_format import DocumentFormat, EncodedDocument, FileLanguages
from dragoman.documents.html import read_html
from dragoman.documents.marks.marked_document import MarkedDocument, OutlineBlock, placeholders_of
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.marks.marking import placeholders
from dragoman.text.character_encoding import CharacterEncoding, decode
from dragoman.text.sentences import split_text


class TextDocument(EncodedDocument):
    """A plain text or a page."""

    def __init__(
        self, document: MarkedDocument, encoding: CharacterEncoding, *, is_markup: bool
    ) -> None:
        super().__init__(encoding, is_markup=is_markup)
        self._document, self._texts = document, document.texts

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
    def joined(self, translations: Sequence[str]) -> str:
        return self._document.joined(translations)


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
    document = MarkedDocument()
    end = number = 0
    for paragraph in split_text(text, "", "paragraphs"):
        line = text[paragraph.start : paragraph.end]
        document.parts.append(text[end : paragraph.start])
        end = paragraph.end
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
