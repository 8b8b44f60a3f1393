"""Documents of Word."""

from __future__ import annotations

from dragoman.documents.filetypes.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.office.open_xml import read_open_xml

_TRANSLATED = ("header", "footer", "footnotes", "endnotes", "comments", "document.glossary")


class DocxFile(DocumentFormat):
    """Documents of Word: body, headers, footers, notes, comments, text boxes, diagrams and charts.

    Text that is marked as deleted or hidden stays as it is, and so do formulas, and what fields
    show, if it is a number, a date, a name or a citation.
    """

    name = "Word"
    suffixes = (".docx",)
    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        """See :meth:`DocumentFormat.read`."""
        return read_open_xml(content, "wordprocessingml", "document.main", _TRANSLATED)
