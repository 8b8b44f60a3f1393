"""Strings of apps for iOS and macOS: ``.strings`` and ``.stringsdict``."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.character_encoding import decode, line_of, with_pairs
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.spliced_document import (
    Slot,
    SplicedDocument,
    fixed,
    replacement,
    space_before,
)
from dragoman.documents.marks.marked_text import escaped
from dragoman.documents.strings.inline_codes import as_section, section_text
from dragoman.documents.strings.plural_rules import CATEGORIES, translated_forms
from dragoman.documents.strings.string_syntax import APPLE
from dragoman.documents.strings.string_values import PlainValue
from dragoman.documents.xml import XmlElement, read_xml_file

_BETWEEN = re.compile(r"(?:\s+|/\*.*?\*/|//[^\n]*)*", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|([\w.:/$-]+)', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:[Uu]([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_BINARY = b"bplist"
_RULE = "NSStringPluralRuleType"
_SETTINGS = frozenset(["NSStringFormatSpecTypeKey", "NSStringFormatValueTypeKey"])


class StringsFile(DocumentFormat):
    """Strings of Apple's platforms, a key and a value each."""

    name = "iOS"
    family = "translation files"
    suffixes = (".strings",)
    media_type = "text/plain"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        _refuse_binary(content)
        text, encoding = decode(content, is_page=False)
        return SplicedDocument(text, encoding, list(_strings(text)))


class StringsdictFile(DocumentFormat):
    """Strings of Apple's platforms that depend on a number."""

    name = "iOS plurals"
    family = "translation files"
    suffixes = (".stringsdict",)
    media_type = "application/xml"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        _refuse_binary(content)
        text, encoding, root = read_xml_file(content)
        if root.name != "plist":
            raise DataError(f"the file is no property list: it begins with <{root.name:.80}>")
        slots: list[Slot] = []
        waiting = [child for child in root.children if child.name == "dict"]
        while waiting:
            members = _members(text, waiting.pop())
            if _text(members.get("NSStringFormatSpecTypeKey")) == _RULE:
                slots += _plural(text, members, languages.target)
                continue
            for name, element in members.items():
                if element.name == "dict":
                    waiting.append(element)
                elif element.name == "string" and name not in _SETTINGS and not element.is_tag:
                    value = PlainValue(_content(element), None, APPLE)
                    slots.append(replacement(element.inner, element.end, value, _writing(element)))
        return SplicedDocument(text, encoding, slots, is_markup=True)


def _refuse_binary(content: bytes) -> None:
    if content.startswith(_BINARY):
        raise DataError("the file is a binary property list; convert it (plutil -convert xml1)")


def _strings(text: str) -> Iterator[Slot]:
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
                string = PlainValue(_unescaped(value[1], text, value.start()), None, APPLE)
                yield replacement(value.start() + 1, value.end() - 1, string, _escaped)
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


def _escaped(text: str) -> str:
    return "".join(_WRITTEN.get(sign, sign) for sign in text)


def _members(text: str, element: XmlElement) -> dict[str, XmlElement]:
    members: dict[str, XmlElement] = {}
    key: str | None = None
    for child in element.children:
        if child.name == "key":
            key = _content(child)
            if key in members:
                raise DataError(
                    f"the key {key[:80]!r} occurs twice, again at line "
                    f"{line_of(text, child.start)}; remove one"
                )
        elif key is not None:
            members[key] = child
            key = None
    return members


def _content(element: XmlElement) -> str:
    """The text of an element, without comments in it."""
    return "".join(
        html.unescape(token.raw) if token.kind == "text" else section_text(token) or ""
        for token in element.tokens
    )


def _writing(element: XmlElement) -> Callable[[str], str]:
    """How the text of an element is written: as a section, if it was one."""
    parts = [token for token in element.tokens if not token.raw.isspace()]
    return as_section if len(parts) == 1 and section_text(parts[0]) is not None else escaped


def _text(element: XmlElement | None) -> str:
    return "" if element is None else _content(element)


def _plural(text: str, members: dict[str, XmlElement], target: str) -> Iterator[Slot]:
    """Forms of the target language.  Others are removed, except the form for zero."""
    forms = {name: members[name] for name in CATEGORIES if name in members}
    given = {name: _content(one) for name, one in forms.items()}
    if "other" not in given:
        return
    other = forms["other"]
    wanted = translated_forms(given, target, syntax=APPLE)
    if "zero" in given and "zero" not in wanted:
        wanted["zero"] = PlainValue(given["zero"], 0, APPLE)
    keys = {name: _key_before(text, forms[name]) for name in forms}
    for name, element in forms.items():
        if name in wanted:
            writing = _writing(element)
            yield replacement(element.inner, element.end, wanted[name], writing, given[name])
        else:
            start, _ = keys[name]
            yield fixed(start, element.stop, "")
    start, raw = keys["other"]
    lead, place = raw[: len(raw) - len(raw.lstrip())], start + len(raw) - len(raw.lstrip())
    between = raw.rpartition(">")[2]
    for name, value in wanted.items():
        if name not in forms:
            head = f"<key>{name}</key>{between}<{other.name}>"
            yield Slot(
                place,
                place,
                [value],
                lambda found, head=head: f"{head}{escaped(found[0])}</{other.name}>{lead}",  # type: ignore[misc]
            )


def _key_before(text: str, element: XmlElement) -> tuple[int, str]:
    """Start of a value's key, with white space in front, and the text from there to the value."""
    start = text.rfind("<key", 0, element.start)
    start -= len(space_before(text, start))
    return start, text[start : element.start]
