"""Translation sources of Qt Linguist: messages without a translation get an unfinished one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.element_text import element_text
from dragoman.documents.filetypes.spliced_document import (
    Slot,
    SplicedDocument,
    fixed,
    space_before,
)
from dragoman.documents.marks.marked_text import escaped
from dragoman.documents.strings.plural_rules import catalogue_rule, catalogue_values
from dragoman.documents.strings.string_syntax import QT
from dragoman.documents.strings.string_values import PlainValue, StringValue
from dragoman.documents.xml import XmlElement, read_xml_file, with_attribute
from dragoman.text.formats.qt import GONE, UNFINISHED

_BEFORE = (
    *("location", "source", "oldsource", "comment", "oldcomment"),
    *("extracomment", "translatorcomment"),
)
"""Children of a message in front of its translation."""
_STEP = "    "


class QtFile(DocumentFormat):
    """Files of Qt Linguist (TS, version 2)."""

    name = "Qt Linguist"
    family = "translation files"
    suffixes = (".ts",)
    media_type = "application/x-linguist"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding, root = read_xml_file(content)
        if root.name != "TS":
            raise DataError(
                f"no file of Qt Linguist: it begins with <{root.name:.80}>, and not with <TS>"
            )
        source = languages.agreed_source(root.attributes.get("sourcelanguage"))
        languages.check_target(root.attributes.get("language"))
        messages = (one for one in root.walk() if one.name == "message")
        slots = [slot for one in messages for slot in _slots(text, one, languages.target)]
        if slots and not root.attributes.get("language"):
            target = languages.target.replace("-", "_")
            tag = with_attribute(text[root.start : root.inner], "language", target)
            slots.append(fixed(root.start, root.inner, tag))
        return SplicedDocument(text, encoding, slots, source_language=source, is_markup=True)


def _slots(text: str, message: XmlElement, target: str) -> Iterator[Slot]:
    source, translation = message.first("source"), message.first("translation")
    if source is None or source.children or not element_text(source).strip():
        return
    if translation is not None and translation.attributes.get("type") in GONE:
        return
    if message.attributes.get("numerus") == "yes":
        yield from _plural(text, message, source, target)
        return
    value = PlainValue(element_text(source), None, QT)
    if value.texts and (translation is None or not translation.has_text):
        yield _translation(text, message, [value], lambda found: _written(found[0]))


def _plural(text: str, message: XmlElement, source: XmlElement, target: str) -> Iterator[Slot]:
    """The forms of a message, if the language has as many of them as the message has places."""
    translation = message.first("translation")
    forms = [] if translation is None else translation.named("numerusform")
    if any(form.has_text for form in forms) or (
        translation is not None and translation.has_text and not forms
    ):
        return
    shown = element_text(source)
    values = catalogue_values(shown, shown, catalogue_rule(target), QT)
    if not any(value.texts for value in values) or len(forms) not in (0, len(values)):
        return
    lead = space_before(text, source.start)

    def written(found: Sequence[str]) -> str:
        lines = [f"{lead}{_STEP}<numerusform>{_written(one)}</numerusform>" for one in found]
        return f"{''.join(lines)}{lead}"

    yield _translation(text, message, values, written)


def _translation(
    text: str,
    message: XmlElement,
    values: Sequence[StringValue],
    write: Callable[[Sequence[str]], str],
) -> Slot:
    """The translation of a message, instead of an empty one or in its place."""
    translation = message.first("translation")
    if translation is None:
        last = [one for one in message.children if one.name in _BEFORE][-1]
        start = stop = last.stop
        tag = f"{space_before(text, last.start)}<translation>"
    else:
        start, stop = translation.start, translation.stop
        tag = text[start : translation.inner]
        if translation.is_tag:
            tag = f"{tag[:-2].rstrip()}>"
    tag = with_attribute(tag, "type", UNFINISHED)
    return Slot(start, stop, values, lambda found: f"{tag}{write(found)}</translation>")


def _written(text: str) -> str:
    """Text as Qt's own programs write it."""
    return escaped(text).replace('"', "&quot;").replace("'", "&apos;")
