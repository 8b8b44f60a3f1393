"""Strings of apps for iOS and macOS: ``.strings`` and ``.stringsdict``."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.element_text import element_text, element_writing
from dragoman.documents.filetypes.spliced_document import (
    Slot,
    SplicedDocument,
    fixed,
    replacement,
    space_before,
)
from dragoman.documents.marks.marked_text import escaped
from dragoman.documents.strings.plural_rules import CATEGORIES, translated_forms
from dragoman.documents.strings.string_syntax import APPLE
from dragoman.documents.strings.string_values import PlainValue
from dragoman.documents.xml import XmlElement, read_xml_file
from dragoman.text.character_encoding import decode, line_of
from dragoman.text.string_files.apple_entries import (
    PLURAL_SETTINGS,
    AppleString,
    apple_strings,
    refuse_binary,
)

_WRITTEN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_RULE = "NSStringPluralRuleType"


class StringsFile(DocumentFormat):
    """Strings of Apple's platforms, a key and a value each."""

    name = "iOS"
    family = "translation files"
    suffixes = (".strings",)
    media_type = "text/plain"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        refuse_binary(content)
        text, encoding = decode(content, is_page=False)
        return SplicedDocument(text, encoding, list(map(_slot, apple_strings(text))))


class StringsdictFile(DocumentFormat):
    """Strings of Apple's platforms that depend on a number."""

    name = "iOS plurals"
    family = "translation files"
    suffixes = (".stringsdict",)
    media_type = "application/xml"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        refuse_binary(content)
        text, encoding, root = read_xml_file(content)
        if root.name != "plist":
            raise DataError(f"the file is no property list: it begins with <{root.name:.80}>")
        slots: list[Slot] = []
        waiting = [child for child in root.children if child.name == "dict"]
        while waiting:
            members = _members(text, waiting.pop())
            if element_text(members.get("NSStringFormatSpecTypeKey")) == _RULE:
                slots += _plural(text, members, languages.target)
                continue
            for name, element in members.items():
                if element.name == "dict":
                    waiting.append(element)
                elif (
                    element.name == "string" and name not in PLURAL_SETTINGS and not element.is_tag
                ):
                    value = PlainValue(element_text(element), None, APPLE)
                    slots.append(
                        replacement(element.inner, element.end, value, element_writing(element))
                    )
        return SplicedDocument(text, encoding, slots, is_markup=True)


def _slot(one: AppleString) -> Slot:
    value = PlainValue(one.text, None, APPLE)
    return replacement(one.start, one.stop, value, _escaped, key=(one.key,))


def _escaped(text: str) -> str:
    return "".join(_WRITTEN.get(sign, sign) for sign in text)


def _members(text: str, element: XmlElement) -> dict[str, XmlElement]:
    members: dict[str, XmlElement] = {}
    key: str | None = None
    for child in element.children:
        if child.name == "key":
            key = element_text(child)
            if key in members:
                raise DataError(
                    f"the key {key[:80]!r} occurs twice, again at line "
                    f"{line_of(text, child.start)}; remove one"
                )
        elif key is not None:
            members[key] = child
            key = None
    return members


def _plural(text: str, members: dict[str, XmlElement], target: str) -> Iterator[Slot]:
    """Forms of the target language.  Others are removed, except the form for zero."""
    forms = {name: members[name] for name in CATEGORIES if name in members}
    given = {name: element_text(one) for name, one in forms.items()}
    if "other" not in given:
        return
    other = forms["other"]
    wanted = translated_forms(given, target, syntax=APPLE)
    if "zero" in given and "zero" not in wanted:
        wanted["zero"] = PlainValue(given["zero"], 0, APPLE)
    keys = {name: _key_before(text, forms[name]) for name in forms}
    for name, element in forms.items():
        if name in wanted:
            writing = element_writing(element)
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
