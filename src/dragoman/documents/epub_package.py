"""Books of EPUB: which parts of the zip file are what (EPUB 3.3, OCF and package document)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from dragoman.core.errors import DataError
from dragoman.documents.office.office_document import read_text
from dragoman.documents.office.zip_package import ZipPackage
from dragoman.documents.xml import XmlElement, read_elements
from dragoman.text.character_encoding import CharacterEncoding

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_TYPE = "application/epub+zip"
_PACKAGE = "application/oebps-package+xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")
_CONTENTS = "application/x-dtbncx+xml"
_LONGEST_TYPE = 100
_MOST_TEXT = 32 * 2**20
"""Bytes of all pages, unpacked: some twenty thousand pages of a book."""
_OF_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Ways to make fonts useless outside of a book, which no key is needed for."""


class XmlPart(NamedTuple):
    """A part that is XML."""

    name: str
    text: str
    encoding: CharacterEncoding
    root: XmlElement


class Book(NamedTuple):
    """The parts of a book that have words."""

    package: ZipPackage
    descriptions: list[XmlPart]
    """Its package documents: title, language, and a list of all parts."""
    pages: list[str]
    """Names of its pages in the order of the list, with the table of contents of EPUB 3."""
    contents: list[XmlPart]
    """Tables of contents of EPUB 2 (NCX)."""


def read_book(content: bytes) -> Book:
    """The parts of a book.

    Raises:
        DataError: it is damaged, hostile, too large, no book, or its pages are encrypted.
    """
    package = ZipPackage(content)
    _check(package)
    container = xml_part(package, _CONTAINER)
    names = [
        one.attributes.get("full-path", "")
        for one in container.root.walk()
        if one.local_name == "rootfile" and one.attributes.get("media-type") == _PACKAGE
    ]
    if not names:
        raise DataError(f"the part {_CONTAINER!r} names no book: the file is damaged")
    descriptions = [xml_part(package, name) for name in dict.fromkeys(names)]
    listed = dict.fromkeys(one for part in descriptions for one in _listed(part, package))
    pages = [name for name, kind in listed if kind in _PAGES]
    contents = [name for name, kind in listed if kind == _CONTENTS]
    size = sum(map(package.size, [*pages, *contents, *names]))
    if size > _MOST_TEXT:
        raise DataError(
            f"the text of the book has {size:,} bytes when it is unpacked; at most {_MOST_TEXT:,} "
            "are read; divide the book"
        )
    return Book(package, descriptions, pages, [xml_part(package, name) for name in contents])


def xml_part(package: ZipPackage, name: str) -> XmlPart:
    """A part that is XML.

    Raises:
        DataError: it is missing, not well-formed, or hostile.
    """
    text, encoding = read_text(package, name)
    try:
        return XmlPart(name, text, encoding, read_elements(text))
    except DataError as error:
        raise DataError(f"the part {name!r}: {error}") from error


def _check(package: ZipPackage) -> None:
    if not 0 < package.size("mimetype") <= _LONGEST_TYPE:
        raise DataError("the file is not a book (.epub): it does not say what it is")
    kind = package.read("mimetype").decode("utf-8", "replace").strip()
    if kind != _TYPE:
        raise DataError(f"the file is not a book (.epub), but {kind!r}")
    if _ENCRYPTION not in package.names:
        return
    for one in xml_part(package, _ENCRYPTION).root.walk():
        method = one.attributes.get("Algorithm", "")
        if one.local_name == "EncryptionMethod" and method not in _OF_FONTS:
            raise DataError(
                "the book is encrypted against copying (DRM), so that its words cannot be read; "
                "ask whoever sells it for one without"
            )


def _listed(part: XmlPart, package: ZipPackage) -> Iterator[tuple[str, str]]:
    """Names and types of the parts that a book lists and has."""
    folder = posixpath.dirname(part.name)
    for one in part.root.walk():
        if one.local_name == "item":
            place = unquote(one.attributes.get("href", "").partition("#")[0])
            name = posixpath.normpath(posixpath.join(folder, place))
            if name in package.names:
                yield name, one.attributes.get("media-type", "")
