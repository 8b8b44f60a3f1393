"""AsciiDoc, as Asciidoctor reads it."""

from __future__ import annotations

from typing_extensions import override

from dragoman.documents.asciidoc.asciidoc_document import AsciidocDocument
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.text.character_encoding import decode


class AsciidocFile(DocumentFormat):
    """AsciiDoc: titles, paragraphs, items of lists, notices and captions.

    Code, tables, comments, attributes, macros and terms of labelled lists stay as they are.
    """

    name = "AsciiDoc"
    suffixes = (".adoc", ".asciidoc")
    media_type = "text/asciidoc"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> AsciidocDocument:
        text, encoding = decode(content, is_page=False)
        return AsciidocDocument(text, encoding)
