"""reStructuredText, as docutils and Sphinx read it: ``page.rst``."""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override

from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.restructured.rest_document import RestDocument
from dragoman.text.character_encoding import decode


class RestFile(DocumentFormat):
    """reStructuredText.

    Translated are paragraphs, titles, items of lists, quotations, definitions, notes, the text of
    admonitions, and captions of figures.
    """

    name = "reStructuredText"
    suffixes: ClassVar[tuple[str, ...]] = (".rst",)
    media_type = "text/x-rst"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> RestDocument:
        text, encoding = decode(content, is_page=False)
        return RestDocument(text, encoding)
