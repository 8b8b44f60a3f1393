"""Strings of Java programs: ``messages.properties``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from typing_extensions import override

from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.filetypes.spliced_document import SplicedDocument, replacement
from dragoman.documents.strings.icu_messages import MessageValue, read_message
from dragoman.documents.strings.string_syntax import shown_syntax
from dragoman.documents.strings.string_values import StringValue
from dragoman.text.character_encoding import CharacterEncoding
from dragoman.text.icu_syntax import NoIcuMessageError, has_choice
from dragoman.text.string_files.properties_entries import (
    JOINT,
    decode_properties,
    read_properties,
)

_WRITTEN = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
_OPTIONAL = re.compile(r"\\([=:#!])")
_ARGUMENT = re.compile(r"\{\s*\d+\s*[,}]")
_DOUBLED = re.compile(r"\w''\w")
_SINGLE = re.compile(r"\w'\w")


class PropertiesFile(DocumentFormat):
    """Strings of Java programs, a key and a value each."""

    name = "Java properties"
    family = "translation files"
    suffixes = (".properties",)
    media_type = "text/plain"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> PropertiesDocument:
        text, encoding = decode_properties(content)
        return PropertiesDocument(text, encoding, languages.target)


class PropertiesDocument(SplicedDocument):
    """The values of a file, in its own notation."""

    def __init__(self, text: str, encoding: CharacterEncoding, language: str) -> None:
        found = list(read_properties(text))
        values = _Values([one.text for one in found], language)
        self._is_unicode = encoding.name != "iso8859-1" and not text.isascii()
        self._signs = {sign for one in found for sign in _OPTIONAL.findall(text, *one[2:])}
        slots = [
            replacement(
                one.start,
                one.stop,
                values.read(one.text),
                self._writing(text[one.start : one.stop]),
                key=(one.key,),
            )
            for one in found
        ]
        super().__init__(text, encoding, slots)

    @override
    def keep_translations(self, other: OpenDocument) -> bool:
        if isinstance(other, PropertiesDocument) and other._is_unicode:
            self._is_unicode, self._encoding = True, other._encoding
        return super().keep_translations(other)

    def _writing(self, raw: str) -> Callable[[str], str]:
        return lambda text: _laid_out("".join(map(self._sign, text)), raw)

    def _sign(self, sign: str) -> str:
        """A character as it is written.  Where the file has none, Java may read another."""
        if sign in self._signs:
            return f"\\{sign}"
        if sign.isascii() or self._is_unicode:
            return _WRITTEN.get(sign, sign)
        units = sign.encode("utf-16-be")
        return "".join(f"\\u{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))


class _Values:
    """What the strings of a file are.

    One with numbered arguments is a pattern of Java's ``MessageFormat``, in which an apostrophe is
    written twice, unless such strings of the file have single ones.
    """

    def __init__(self, strings: Iterable[str], language: str) -> None:
        strings = list(strings)
        patterns = [text for text in strings if _ARGUMENT.search(text)]
        doubled, single = (
            sum(1 for one in patterns if sign.search(one)) for sign in (_DOUBLED, _SINGLE)
        )
        self._doubles, self._language = doubled >= single, language
        self._syntax = replace(shown_syntax(strings), numbering="printf")

    def read(self, text: str) -> StringValue:
        is_pattern = _ARGUMENT.search(text) or "''" in text
        if self._doubles and is_pattern and not has_choice(text):
            try:
                return MessageValue(text, self._language, doubles=True)
            except NoIcuMessageError:
                pass
        return read_message(text, self._language, syntax=self._syntax)


def _laid_out(text: str, raw: str) -> str:
    r"""A value on as many lines as it needs, if the value that it replaces is on several.

    A line ends after ``\n`` if those of the replaced value do, or else at a space.
    """
    if text.startswith(" "):
        text = f"\\{text}"
    joints = JOINT.findall(raw)
    if not joints:
        return text
    lines = JOINT.split(raw)
    if all(line.endswith("\\n") for line in lines[:-1]):
        return re.sub(r"((?<!\\)(?:\\\\)*\\n)(?=.)", lambda one: one[1] + joints[0], text)
    width = max(map(len, lines))
    written = [""]
    for word in re.findall(r"[^ ]* *", text):
        if written[-1] and len(written[-1]) + len(word) > width:
            written.append("")
        written[-1] += word
    return joints[0].join(written)
