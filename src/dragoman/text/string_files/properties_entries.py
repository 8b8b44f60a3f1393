r"""Strings of Java programs: ``messages.properties`` (Java SE, ``java.util.Properties.load``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dragoman.core.errors import DataError
from dragoman.text.character_encoding import CharacterEncoding, decode, line_of, with_pairs
from dragoman.text.string_files.keyed_string import KeyedString

_BLANK = " \t\f"
_LINE_END = r"(?:\r\n|\r|\n)"
JOINT = re.compile(rf"\\{_LINE_END}[{_BLANK}]*")
r"""The end of a line that the next one continues, with the white space in front of that one."""
_SKIPPED = re.compile(rf"(?:[{_BLANK}\r\n]+|[#!][^\r\n]*)*")
_KEY = re.compile(rf"(?:[^\\=:{_BLANK}\r\n]|\\{_LINE_END}[{_BLANK}]*|\\.|\\\Z)*")
_SEPARATOR = re.compile(
    rf"(?:[{_BLANK}]|\\{_LINE_END}[{_BLANK}]*)*(?:[=:](?:[{_BLANK}]|\\{_LINE_END}[{_BLANK}]*)*)?"
)
_VALUE = re.compile(rf"(?:[^\\\r\n]|\\{_LINE_END}|\\.|\\\Z)*")
_ESCAPE = re.compile(rf"\\(?:{_LINE_END}[{_BLANK}]*|u([0-9a-fA-F]{{4}})|(.?))")
_SIGNS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """A key and its value."""

    key: str
    text: str
    start: int
    """The first character of the value, in the text of the file."""
    stop: int


def decode_properties(content: bytes) -> tuple[str, CharacterEncoding]:
    """The text of a file: UTF-8, or else ISO-8859-1, as Java has read them since version 9.

    Raises:
        DataError: it has null characters, or is damaged UTF-16.
    """
    try:
        content.decode()
    except UnicodeDecodeError:
        if not content.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" not in content:
            encoding = CharacterEncoding("iso8859-1")
            return content.decode(encoding.name), encoding
    return decode(content, is_page=False)


def properties_entries(content: bytes) -> list[KeyedString]:
    """The strings of a file, in order.

    Raises:
        DataError: a damaged escape, with its line.
    """
    text, _ = decode_properties(content)
    return [KeyedString((one.key,), one.text) for one in read_properties(text)]


def read_properties(text: str) -> Iterator[Property]:
    """The keys of a file and their values, with their places, in order.

    Raises:
        DataError: a damaged escape, with its line.
    """
    place = _end(_SKIPPED, text, 0)
    while place < len(text):
        key_stop = _end(_KEY, text, place)
        start = _end(_SEPARATOR, text, key_stop)
        stop = _end(_VALUE, text, start)
        key = _unescaped(text[place:key_stop], text, place)
        yield Property(key, _unescaped(text[start:stop], text, start), start, stop)
        place = _end(_SKIPPED, text, stop)


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _unescaped(raw: str, text: str, place: int) -> str:
    """A part of a file, which begins at a place, without its escapes and ends of lines."""

    def plain(found: re.Match[str]) -> str:
        code, sign = found.groups()
        if code:
            return chr(int(code, 16))
        if sign == "u":
            line = line_of(text, place + found.start())
            raise DataError(
                f"line {line}: \\u without four hexadecimal digits; write \\\\u for a backslash"
            )
        return _SIGNS.get(sign, sign) if sign else ""

    if "\\" not in raw:
        return raw
    try:
        return with_pairs(_ESCAPE.sub(plain, raw))
    except UnicodeDecodeError as error:
        raise DataError(
            f"line {line_of(text, place)}: half of a surrogate pair; correct it"
        ) from error
