"""Packages of Office Open XML (ECMA-376, part 2): which of their parts are what."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dragoman.core.errors import DataError
from dragoman.documents.office.office_document import read_text
from dragoman.documents.office.part_tokens import attribute, part_tokens
from dragoman.documents.office.zip_package import ZipPackage

_CONTENT_TYPES = "[Content_Types].xml"
_MOST_TYPES = 4 * 2**20
"""Bytes of the part that says what the others are."""
_KINDS = {
    "ms-excel.sheet.macroEnabled": "a workbook with macros (.xlsm)",
    "wordprocessingml": "a document of Word (.docx)",
    "presentationml": "a presentation (.pptx)",
    "spreadsheetml": "a workbook (.xlsx)",
}
OPEN_XML = "application/vnd.openxmlformats-officedocument."
"""Begin of the types of most parts."""

PARTS_OF_ANY = frozenset(
    [
        f"{OPEN_XML}drawingml.chart+xml",
        f"{OPEN_XML}drawingml.chartshapes+xml",
        "application/vnd.ms-office.chartex+xml",
        f"{OPEN_XML}drawingml.diagramData+xml",
        "application/vnd.ms-office.drawingml.diagramDrawing+xml",
        "application/vnd.ms-powerpoint.comments+xml",
    ]
)
"""Types of parts of any document: charts and shapes on them, diagrams with the picture that is kept
of them, and comments of newer programs."""


def parts_of(types: Mapping[str, str], wanted: Collection[str]) -> list[str]:
    """Names of the parts of some types, given the types of all, in their order."""
    return [name for name, found in types.items() if found in wanted]


def check_main(types: Mapping[str, str], main: str) -> None:
    """Check that there is a part of a type.

    Raises:
        DataError: there is none.
    """
    if main not in types.values():
        all_types = " ".join(types.values())
        kind, other = (
            next((text for name, text in _KINDS.items() if name in found), "something else")
            for found in (main, all_types)
        )
        raise DataError(f"the file is not {kind}, but {other}; give it the name of that")


def types_of_parts(package: ZipPackage) -> dict[str, str]:
    """The types of all parts by their names, in the order of the file.

    Raises:
        DataError: the part that says so is damaged, hostile or missing.
    """
    if package.size(_CONTENT_TYPES) > _MOST_TYPES:
        raise DataError(f"the part {_CONTENT_TYPES!r} is too large: the file is damaged or hostile")
    text, _ = read_text(package, _CONTENT_TYPES)
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


def check_without_macros(package: ZipPackage, types: Mapping[str, str]) -> None:
    """Check that a package has no macros.

    Raises:
        DataError: it has.
    """
    names = (name.rpartition("/")[2].lower() for name in package.names)
    kinds = (one.lower() for one in types.values())
    if "vbaproject.bin" in names or any(
        "macroenabled" in one or "vbaproject" in one for one in kinds
    ):
        raise DataError("the file has macros, which are not taken; save it without them")
