"""Documents of Word and PowerPoint."""

from __future__ import annotations

from collections.abc import Collection

from typing_extensions import override

from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.office.inline_roles import (
    OPEN_XML_ROLES,
    OPEN_XML_TEXTS,
)
from dragoman.documents.office.item_reading import ParagraphMarkup
from dragoman.documents.office.office_document import OfficeDocument, read_parts
from dragoman.documents.office.open_xml_package import (
    OPEN_XML,
    PARTS_OF_ANY,
    check_main,
    check_without_macros,
    parts_of,
    types_of_parts,
)
from dragoman.documents.office.zip_package import ZipPackage

_WORD_PARTS = ("header", "footer", "footnotes", "endnotes", "comments", "document.glossary")
_SLIDE_PARTS = ("slide", "notesSlide", "comments")
_OPEN_XML_MARKUP = ParagraphMarkup(OPEN_XML_ROLES, OPEN_XML_TEXTS)


class DocxFile(DocumentFormat):
    """Documents of Word: body, headers, footers, notes, comments, text boxes, diagrams and charts.

    Text that is marked as deleted or hidden stays as it is, and so do formulas, and what fields
    show, if it is a number, a date, a name or a citation.
    """

    name = "Word"
    suffixes = (".docx",)
    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        return _read_open_xml(content, "wordprocessingml.document.main", _WORD_PARTS)


class PptxFile(DocumentFormat):
    """Presentations: slides, notes, comments, tables, charts, and diagrams.

    Layouts stay as they are, and so do the workbooks of charts.
    """

    name = "PowerPoint"
    suffixes = (".pptx",)
    media_type = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        return _read_open_xml(content, "presentationml.presentation.main", _SLIDE_PARTS)


def _read_open_xml(content: bytes, main: str, others: Collection[str]) -> OfficeDocument:
    """A document of Office Open XML, given the types of its main part and of others with text."""
    package = ZipPackage(content)
    types = types_of_parts(package)
    check_without_macros(package, types)
    whole = f"{OPEN_XML}{main}+xml"
    check_main(types, whole)
    kind = main.partition(".")[0]
    wanted = {f"{OPEN_XML}{kind}.{name}+xml" for name in others} | PARTS_OF_ANY
    names = [*parts_of(types, {whole}), *parts_of(types, wanted)]
    return OfficeDocument(package, read_parts(package, names, lambda text: _OPEN_XML_MARKUP))
