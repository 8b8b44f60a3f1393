"""Presentations."""

from __future__ import annotations

from dragoman.documents.filetypes.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.office.open_xml import read_open_xml

_TRANSLATED = ("slide", "notesSlide", "comments")


class PptxFile(DocumentFormat):
    """Presentations: slides, notes, comments, tables, charts, and diagrams.

    Layouts stay as they are, and so do the workbooks of charts.
    """

    name = "PowerPoint"
    suffixes = (".pptx",)
    media_type = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        """See :meth:`DocumentFormat.read`."""
        return read_open_xml(content, "presentationml", "presentation.main", _TRANSLATED)
