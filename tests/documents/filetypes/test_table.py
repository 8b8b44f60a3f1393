"""The table of formats of documents, and formats that other packages add."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from echo_service import EchoService
from installed_package import installed_package

from dragoman.core.errors import DataError
from dragoman.documents.file_translation import translate_file
from dragoman.documents.filetypes import (
    DOCUMENT_FORMATS,
    GROUP,
    document_format,
    document_formats,
    file_suffixes,
)
from dragoman.translation.service.interface import TextRequest

OUTSIDERS = r'''
import re

from dragoman.text.character_encoding import decode
from dragoman.documents.filetypes import DocumentFormat, OpenDocument
from dragoman.documents.marks.marked_document import MarkedDocument
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece

EVENT = re.compile(r"(?m)^(Dialogue:(?:[^,\n]*,){9})([^\r\n]*)")
CODE = re.compile(r"(\{[^{}]*\}|\\[Nnh])")

def marked(line):
    """The text of a line, whose override codes and line ends are marks."""
    pieces = [
        MarkupPiece("point" if CODE.fullmatch(raw) else "text", raw, is_shown=False)
        for raw in CODE.split(line) if raw
    ]
    return mark_pieces(pieces, collapses=False) or line

class AssFile(DocumentFormat):
    name = "Events"
    family = "subtitles"
    suffixes = (".evt",)
    media_type = "text/x-ssa"

    def read(self, content, languages):
        text, encoding = decode(content, is_page=False)
        parts, end = [], 0
        for event in EVENT.finditer(text):
            parts += [text[end : event.start(2)], marked(event[2])]
            end = event.end()
        return AssDocument(MarkedDocument([*parts, text[end:]]), encoding)

class AssDocument(OpenDocument):
    escape = staticmethod(str)  # signs of markup mean nothing

    def __init__(self, document, encoding):
        self.document, self.encoding = document, encoding

    @property
    def texts(self):
        return self.document.texts

    def written(self, translations):
        return self.encoding.encode(self.document.joined(translations), is_markup=False)

class OtherText(AssFile):
    suffixes = (".txt", ".lines")

class Careless(AssFile):
    suffixes = ".careless"

class Empty(DocumentFormat):
    name = "empty"
'''

SUBTITLES = (
    "[Script Info]\r\nTitle: Doors\r\n\r\n[Events]\r\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\r\n"
    "Comment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,Not shown\r\n"
    r"Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,A {\i1}red{\i0} door, 1 < 2\NOpen it"
    "\r\n"
)


def test_a_format_of_another_package_is_translated(tmp_path: Path) -> None:
    entries = {"evt": "documents_outside:AssFile"}
    with installed_package(tmp_path, "documents_outside", OUTSIDERS, GROUP, entries):
        assert [one.name for one in document_formats()[len(DOCUMENT_FORMATS) :]] == ["Events"]
        assert file_suffixes()[-1] == ".evt"
        request = TextRequest("", "de", "en")
        found = asyncio.run(
            translate_file(EchoService(), "doors.EVT", SUBTITLES.encode("utf-16"), request)
        )
    assert (found.name, found.media_type) == ("doors.de.EVT", "text/x-ssa")
    translated = r",,A {\i1}RED{\i0} DOOR, 1 < 2\NOPEN ITde"
    before, _, _ = SUBTITLES.rpartition(",,")
    assert found.content.decode("utf-16") == f"{before}{translated}\r\n"
    with pytest.raises(DataError, match=r"'\.evt' are not translated"):
        document_format("doors.evt")


def test_ours_come_first_and_broken_formats_of_other_packages_harm_no_others(
    tmp_path: Path,
) -> None:
    names = {"AssFile", "OtherText", "Careless", "Empty", "Missing"}
    entries = {name.lower(): f"documents_half_broken:{name}" for name in names}
    with installed_package(tmp_path, "documents_half_broken", OUTSIDERS, GROUP, entries):
        assert document_format("a.evt").name == "Events"
        assert document_format("a.txt") is DOCUMENT_FORMATS[0]
        assert document_format("a.lines").suffixes == (".txt", ".lines")
        with pytest.raises(DataError) as error:
            document_format("a.careless")
    for problem in (
        "dragoman.documents: careless: its class must have suffixes such as ('.careless',)",
        "dragoman.documents: empty (documents_half_broken:Empty of documents_half_broken) is "
        "abstract without read",
        "dragoman.documents: missing (documents_half_broken:Missing of documents_half_broken) "
        "cannot be loaded: AttributeError",
    ):
        assert problem in str(error.value)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("paper.pdf", "'pdftotext FILE.pdf FILE.txt'"), ("old/Report.DOC", "save it as .docx")],
)
def test_what_cannot_be_kept_is_refused_with_a_remedy(name: str, remedy: str) -> None:
    with pytest.raises(DataError, match="are not translated; ") as refused:
        document_format(name)
    assert remedy in str(refused.value)
