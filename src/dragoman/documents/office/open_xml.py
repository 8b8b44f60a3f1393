"""Packages of Office Open XML: which parts they have, and what these are (ECMA-376, part 2)."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from dragoman.core.errors import DataError
from dragoman.documents.office.inline_roles import OPEN_XML_ROLES, OPEN_XML_TEXTS
from dragoman.documents.office.office_document import OfficeDocument, read_text
from dragoman.documents.office.paragraph_items import ParagraphMarkup
from dragoman.documents.office.part_tokens import attribute, part_tokens
from dragoman.documents.office.zip_package import ZipPackage

_TYPES = "[Content_Types].xml"
_MARKUP = ParagraphMarkup(OPEN_XML_ROLES, OPEN_XML_TEXTS)
_MOST_TYPES = 4 * 2**20
"""Bytes of the part that says what the others are."""

_KINDS = {
    "wordprocessingml": "a document of Word (.docx)",
    "presentationml": "a presentation (.pptx)",
    "spreadsheetml": "a workbook (.xlsx)",
}
_OF_ANY = frozenset(
    [
        "application/vnd.openxmlformats-officedocument.drawingml.chart+xml",
        "application/vnd.openxmlformats-officedocument.drawingml.chartshapes+xml",
        "application/vnd.ms-office.chartex+xml",
        "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml",
        "application/vnd.ms-office.drawingml.diagramDrawing+xml",
        "application/vnd.ms-powerpoint.comments+xml",
    ]
)
"""Parts of any document: charts and shapes on them, diagrams with the picture that is kept of them,
and comments of newer programs."""


def read_open_xml(content: bytes, kind: str, main: str, others: Collection[str]) -> OfficeDocument:
    """A document of Office Open XML.

    Args:
        content: the file.
        kind: of markup, such as ``wordprocessingml``.
        main: type of its main part, as in ``document.main``.
        others: types of the other parts that are translated, such as ``header``.

    Raises:
        DataError: it is damaged, hostile, has macros, or is a document of another kind.
    """
    package = ZipPackage(content)
    types = _types(package)
    if any("macroenabled" in one.lower() or "vbaproject" in one.lower() for one in types.values()):
        raise DataError("the file has macros, which are not taken; save it without them")
    base = f"application/vnd.openxmlformats-officedocument.{kind}."
    first = [name for name, found in types.items() if found == f"{base}{main}+xml"]
    if not first:
        is_about = partial(_has_kind, types)
        other = next((text for name, text in _KINDS.items() if is_about(name)), "something else")
        raise DataError(f"the file is not {_KINDS[kind]}, but {other}; give it the name of that")
    wanted = {f"{base}{name}+xml" for name in others} | _OF_ANY
    rest = [name for name, found in types.items() if found in wanted]
    return OfficeDocument(package, [*first, *rest], lambda text: _MARKUP)


def _has_kind(types: dict[str, str], kind: str) -> bool:
    return any(kind in one for one in types.values())


def _types(package: ZipPackage) -> dict[str, str]:
    """The type of each part, by name, in the order of the file."""
    if any(name.rpartition("/")[2].lower() == "vbaproject.bin" for name in package.names):
        raise DataError("the file has macros, which are not taken; save it without them")
    if package.size(_TYPES) > _MOST_TYPES:
        raise DataError(f"the part {_TYPES!r} is too large: the file is damaged or hostile")
    text, _ = read_text(package, _TYPES)
    defaults: dict[str, str] = {}
    named: dict[str, str] = {}
    for token in part_tokens(text):
        if token.name == "types:Default":
            defaults[attribute(token, "Extension").lower()] = attribute(token, "ContentType")
        elif token.name == "types:Override":
            name = attribute(token, "PartName").removeprefix("/").lower()
            named[name] = attribute(token, "ContentType")
    return {
        name: named.get(name.lower()) or defaults.get(name.rpartition(".")[2].lower(), "")
        for name in package.names
    }
