"""Strings of apps for iOS and macOS: ``.strings`` and ``.stringsdict``."""

from __future__ import annotations

import plistlib
import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.parsers.expat import ExpatError

from dragoman.core.errors import DataError
from dragoman.text.character_encoding import decode, line_of, with_pairs
from dragoman.text.string_files.json_entries import nested_entries
from dragoman.text.string_files.keyed_string import KeyedString

PLURAL_SETTINGS = frozenset(["NSStringFormatSpecTypeKey", "NSStringFormatValueTypeKey"])
"""Keys of a plural whose values are no text."""
_BETWEEN = re.compile(r"(?:\s+|/\*.*?\*/|//[^\n]*)*", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|([\w.:/$-]+)', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:[Uu]([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_BINARY = b"bplist"


class AppleString(NamedTuple):
    """A key and a value in quotation marks."""

    key: str
    text: str
    start: int
    """The first character of the value, in the text of the file."""
    stop: int


def apple_entries(content: bytes) -> list[KeyedString]:
    """The strings of a ``.strings`` file, in order.

    Raises:
        DataError: a syntax error, with its line.
    """
    refuse_binary(content)
    text, _ = decode(content, is_page=False)
    return [KeyedString((one.key,), one.text) for one in apple_strings(text)]


def apple_plural_entries(content: bytes) -> list[KeyedString]:
    """The strings of a ``.stringsdict`` file, in order: of plurals, each form.

    Raises:
        DataError: no property list in XML.
    """
    refuse_binary(content)
    try:
        root = plistlib.loads(content, fmt=plistlib.FMT_XML)
    except ExpatError as error:
        raise DataError(f"line {error.lineno}: no property list ({error})") from error
    except Exception as error:  # as damaged values raise many
        raise DataError(f"no property list ({type(error).__name__}: {error})") from error
    return [one for one in nested_entries(root, ()) if one.key[-1] not in PLURAL_SETTINGS]


def refuse_binary(content: bytes) -> None:
    """Refuse a property list that is not text.

    Raises:
        DataError: the content is such a list.
    """
    if content.startswith(_BINARY):
        raise DataError("the file is a binary property list; convert it (plutil -convert xml1)")


def apple_strings(text: str) -> Iterator[AppleString]:
    """The values in quotation marks of a ``.strings`` file, with their places.

    Raises:
        DataError: a syntax error, with its line.
    """
    place = _after(text, 0)
    while place < len(text):
        if text.startswith("/*", place):
            raise DataError(f"line {line_of(text, place)}: a comment has no end")
        key = _read_string(text, place, "a key")
        place = _after(text, key.end())
        if text[place : place + 1] == "=":
            value = _read_string(text, _after(text, place + 1), "a value")
            place = _after(text, value.end())
            if value[1] is not None:
                name = key[2] if key[1] is None else _unescaped(key[1], text, key.start())
                shown = _unescaped(value[1], text, value.start())
                yield AppleString(name, shown, value.start() + 1, value.end() - 1)
        if text[place : place + 1] != ";":
            raise DataError(f"line {line_of(text, key.start())}: no semicolon after a string")
        place = _after(text, place + 1)


def _after(text: str, place: int) -> int:
    """The next place that is neither white space nor within a comment."""
    found = _BETWEEN.match(text, place)
    return found.end() if found else place


def _read_string(text: str, place: int, what: str) -> re.Match[str]:
    found = _STRING.match(text, place)
    if found is None:
        raise DataError(f"line {line_of(text, place)}: {what} is missing, or has no end")
    return found


def _unescaped(raw: str, text: str, place: int) -> str:
    """A string, written at a place of the text of the file, without its escapes."""

    def plain(found: re.Match[str]) -> str:
        code, octal, sign = found.groups()
        if sign is None:
            return chr(int(code, 16) if code else int(octal, 8))
        return _ESCAPES.get(sign, sign)

    if "\\" not in raw:
        return raw
    try:
        return with_pairs(_ESCAPE.sub(plain, raw))
    except UnicodeDecodeError as error:
        raise DataError(
            f"line {line_of(text, place)}: half of a surrogate pair; correct it"
        ) from error
