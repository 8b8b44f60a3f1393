"""Parts of a package as tokens of XML, whose names do not depend on the prefixes of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dragoman.core.errors import DataError
from dragoman.documents.marks.markup_tokens import MarkupToken, xml_tokens
from dragoman.documents.xml import check_xml

_DEEPEST = 200
"""Elements within one another.  Real documents reach some fifty."""

_OPEN_XML = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_MICROSOFT = "http://schemas.microsoft.com/office/word/"
_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_PREFIXES = {
    **{
        f"{base}{path}": prefix
        for prefix, old, strict in [
            ("w", "wordprocessingml/2006/main", "wordprocessingml/main"),
            ("a", "drawingml/2006/main", "drawingml/main"),
            ("p", "presentationml/2006/main", "presentationml/main"),
            ("x", "spreadsheetml/2006/main", "spreadsheetml/main"),
            ("xdr", "drawingml/2006/spreadsheetDrawing", "drawingml/spreadsheetDrawing"),
            ("c", "drawingml/2006/chart", "drawingml/chart"),
            ("cdr", "drawingml/2006/chartDrawing", "drawingml/chartDrawing"),
            ("pic", "drawingml/2006/picture", "drawingml/picture"),
            ("wp", "drawingml/2006/wordprocessingDrawing", "drawingml/wordprocessingDrawing"),
        ]
        for base, path in [(_OPEN_XML, old), (_STRICT, strict)]
    },
    f"{_OPEN_XML}package/2006/content-types": "types",
    f"{_OPEN_XML}markup-compatibility/2006": "mc",
    "urn:schemas-microsoft-com:vml": "v",
    f"{_MICROSOFT}2010/wordprocessingShape": "wps",
    f"{_MICROSOFT}2010/wordprocessingGroup": "wps",
    f"{_MICROSOFT}2010/wordprocessingCanvas": "wps",
    "http://schemas.microsoft.com/office/drawing/2014/chartex": "cx",
    "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments": "xtc",
    **{
        f"{_OASIS}{name}:1.0": name
        for name in ("office", "text", "table", "draw", "style", "presentation", "manifest")
    },
    f"{_OASIS}svg-compatible:1.0": "svg",
    "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
}
"""Namespaces (ECMA-376 and ISO 29500, MS-ODRAWXML, ODF 1.3, LibreOffice), and the prefixes that
stand for them here."""
_UNKNOWN = "?"
_NAME = re.compile(r"</?([^\s/>]+)")


def part_tokens(text: str) -> Iterator[MarkupToken]:
    """The tokens of a part.

    Names have the usual prefixes, as ``w:p``, even if the part has others.  Names of unknown
    namespaces begin with ``?:``.

    Raises:
        DataError: it is not well-formed, has a document type, or is nested too deeply.
    """
    check_xml(text)
    scopes: list[tuple[int, dict[str, str]]] = [(0, {})]
    depth = 0
    for token in xml_tokens(text):
        if token.kind in ("text", "opaque"):
            if token.raw.startswith("<!DOCTYPE"):
                raise DataError("XML with a document type is not read")
            yield token
            continue
        if token.kind != "close":
            prefixes = _declared(token)
            if prefixes:
                scopes.append((depth + 1, {**scopes[-1][1], **prefixes}))
            if token.kind == "open":
                depth += 1
        if depth > _DEEPEST:
            raise DataError(f"elements are nested more than {_DEEPEST} deep")
        yield _named(token, scopes[-1][1])
        if token.kind == "close":
            depth -= 1
        if token.kind != "open" and scopes[-1][0] > depth:
            scopes.pop()


def attribute(token: MarkupToken, name: str) -> str:
    """The value of an attribute, by its name without prefix; an empty text if it has none."""
    return next(
        (value for key, value in token.attributes.items() if key.rpartition(":")[2] == name), ""
    )


def written_name(token: MarkupToken) -> str:
    """The name of an element with the prefix that the file has for it."""
    found = _NAME.match(token.raw)
    assert found is not None
    return found[1]


def _declared(token: MarkupToken) -> dict[str, str]:
    """The prefixes that a tag declares, and what stands for their namespaces here."""
    return {
        name.removeprefix("xmlns").removeprefix(":"): _PREFIXES.get(value, _UNKNOWN)
        for name, value in token.attributes.items()
        if name == "xmlns" or name.startswith("xmlns:")
    }


def _named(token: MarkupToken, prefixes: dict[str, str]) -> MarkupToken:
    prefix, _, local = token.name.rpartition(":")
    name = f"{prefixes.get(prefix, _UNKNOWN)}:{local}"
    return token if name == token.name else replace(token, name=name)
