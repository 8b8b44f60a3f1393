"""Bytes of a file to text and back, in the encoding that it has, and lines of that text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from dragoman.core.errors import DataError

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_DECLARED = re.compile(
    rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_PRESCANNED = 1024  # bytes, as browsers do

# Encodings that pages may name (WHATWG, Encoding, section 4.2), as Python calls them.  UTF-7
# and the like are left out: signs of markup can hide in them.
_NAMES = """
    ascii big5 big5hkscs cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp866 cp874
    cp932 cp949 euc_jp euc_kr gb18030 gb2312 gbk iso2022_jp iso8859-1 iso8859-10 iso8859-11
    iso8859-13 iso8859-14 iso8859-15 iso8859-16 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6
    iso8859-7 iso8859-8 iso8859-9 koi8-r koi8-u mac-cyrillic mac-roman shift_jis tis-620 utf-16
    utf-16-be utf-16-le utf-8
"""
_KNOWN = frozenset(_NAMES.split())
# What browsers read instead.
_WIDER = {
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    # Whoever could read this declaration does not read UTF-16.
    "utf-16": "utf-8",
    "utf-16-be": "utf-8",
    "utf-16-le": "utf-8",
}


@dataclass(frozen=True)
class CharacterEncoding:
    """How a file is written."""

    name: str
    mark: bytes = b""
    """The byte order mark in front."""

    def encode(self, text: str, *, is_markup: bool) -> bytes:
        """A text as bytes.  Characters that the encoding lacks become references, or else ``?``."""
        return self.mark + text.encode(self.name, "xmlcharrefreplace" if is_markup else "replace")


def decode(content: bytes, *, is_page: bool) -> tuple[str, CharacterEncoding]:
    """The text of a file, and its encoding.

    That is what a byte order mark says, or else, in HTML, what the page says, or else UTF-8.

    Raises:
        DataError: it is not text in that encoding, or the encoding is unknown.
    """
    encoding = _encoding(content, is_page=is_page)
    try:
        text = content[len(encoding.mark) :].decode(encoding.name)
    except UnicodeDecodeError as error:
        remedy = ", or say in the page which encoding it has" if is_page else ""
        raise DataError(
            f"the file is not {encoding.name.upper()} at byte "
            f"{error.start + len(encoding.mark) + 1}; convert it to UTF-8{remedy}"
        ) from error
    if "\0" in text:
        raise DataError("the file is not text: it has null characters; send text or HTML")
    return text, encoding


def decode_as(content: bytes, label: str) -> tuple[str, CharacterEncoding]:
    """The text of a file that names its encoding.

    A byte order mark wins over the label.  A file that claims ASCII and has other bytes is UTF-8.

    Raises:
        DataError: it is not text in that encoding, or the encoding is unknown.
    """
    if content.startswith(tuple(_MARKS)):
        return decode(content, is_page=False)
    if (name := _known_name(label)) is None:
        raise DataError(
            f"the file says that its encoding is {label[:40]!r}, which is not read; convert it "
            "to UTF-8"
        )
    encoding = CharacterEncoding("utf-8" if name == "ascii" and not content.isascii() else name)
    try:
        return content.decode(encoding.name), encoding
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"line {line} is not {encoding.name.upper()}, as the file says; correct what it says, "
            "or convert it"
        ) from error


def line_of(text: str, place: int) -> int:
    """The number of the line at a place of a text."""
    return text.count("\n", 0, place) + 1


def with_pairs(text: str) -> str:
    """A text whose escapes, each a character here, are units of UTF-16, of which two can be one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _known_name(label: str) -> str | None:
    """Python's name of an encoding, or None if it is not read."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    return name if name in _KNOWN else None


def _encoding(content: bytes, *, is_page: bool) -> CharacterEncoding:
    for mark, name in _MARKS.items():
        if content.startswith(mark):
            return CharacterEncoding(name, mark)
    declared = _DECLARED.search(content[:_PRESCANNED]) if is_page else None
    if declared is None:
        return CharacterEncoding("utf-8")
    label = (declared[1] or declared[2]).decode("ascii", "replace")
    known = _known_name(label)
    if known is None:
        raise DataError(
            f"the page says that its encoding is {label!r}, which is not read; convert it to UTF-8"
        )
    return CharacterEncoding(_WIDER.get(known, known))
