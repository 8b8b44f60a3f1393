"""XLIFF 1.2 and 2: targets that are missing are made, and all else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument, fixed, space_before
from dragoman.documents.marks.marked_document import find_elements
from dragoman.documents.marks.marked_text import escaped
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.strings.icu_messages import read_message
from dragoman.documents.strings.inline_codes import CodedValue, section_text
from dragoman.documents.strings.plural_alternatives import read_escaped_alternatives
from dragoman.documents.strings.string_syntax import ANY
from dragoman.documents.strings.string_values import StringValue
from dragoman.documents.xml import XmlElement, read_xml_file, with_attribute
from dragoman.text.formats.xliff import CODES, UNDONE, UNREVIEWED
from dragoman.text.icu_syntax import has_choice

_NAMESPACE = "urn:oasis:names:tc:xliff:document:"
_MADE_1 = UNREVIEWED
_MADE_2 = "translated"
_INDENTED = re.compile(r"\n[ \t]+\S")
_SIGNS = "{}#'|<>"
"""Signs that a message would read as its own within the attributes or the content of a code."""
_MASKS = "".join(chr(0xF8F0 + number) for number in range(len(_SIGNS)))
_END = "\uf8ff/>"
"""The end of a code that has content: the message has it as one tag."""
_MASK, _UNMASK = str.maketrans(_SIGNS, _MASKS), str.maketrans(_MASKS, _SIGNS)


class CodedMessage(StringValue):
    """A message of ICU with inline codes, none of which is a part of its syntax."""

    def __init__(self, tokens: Sequence[MarkupToken], language: str) -> None:
        self.source = "".join(token.raw for token in tokens)
        self._message = read_message("".join(_masked(tokens)), language, is_markup=True)
        self.texts = self._message.texts

    @override
    def joined(self, translations: Sequence[str]) -> str:
        joined = self._message.joined(translations)
        if joined == self._message.source:
            return self.source
        return joined.replace(_END, ">").translate(_UNMASK)


def is_coded_message(tokens: Sequence[MarkupToken]) -> bool:
    """Whether the text beside codes looks like a message with branches."""
    raw = "".join(token.raw for token in tokens)
    if not has_choice(raw) or any(sign in raw for sign in (*_MASKS, _END[0])):
        return False
    return has_choice("".join(part if _is_text(part) else "<x/>" for part in _masked(tokens)))


def _is_text(masked: str) -> bool:
    return not masked.startswith("<")


def _masked(tokens: Sequence[MarkupToken]) -> Iterator[str]:
    """Text, with each code as one tag without signs of a message.  Sections of CDATA are text."""
    ends = find_elements(tokens).ends
    index = 0
    while index < len(tokens):
        token, end = tokens[index], index
        if token.kind == "open" and token.local_name in CODES:
            end = ends.get(index, index)
        raw = "".join(inner.raw for inner in tokens[index : end + 1])
        section = section_text(token)
        if section is not None:
            yield escaped(section)
        elif token.kind == "text":
            yield raw
        elif end > index:
            yield f"<{raw[1:-1].translate(_MASK)}{_END}"
        else:
            yield f"<{raw[1:-1].translate(_MASK)}>"
        index = end + 1


class XliffFile(DocumentFormat):
    """XLIFF: OASIS Standard 1.2 (2008) and 2.1 (2018), and 2.0 and 2.2."""

    name = "XLIFF"
    family = "translation files"
    suffixes = (".xlf", ".xliff")
    media_type = "application/xliff+xml"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding, root = read_xml_file(content)
        if root.local_name != "xliff":
            raise DataError(f"the file is not XLIFF: it begins with <{root.name:.80}>")
        version = root.attributes.get("version") or _version_of_namespace(root)
        if not version.startswith(("1.", "2.")):
            raise DataError(f"XLIFF of version {version!r} is not read; give 1.2 or 2")
        reading = _Version1 if version.startswith("1.") else _Version2
        strings = reading(text, root, languages)
        return SplicedDocument(
            text, encoding, strings.slots(), source_language=strings.source_language, is_markup=True
        )


def _version_of_namespace(root: XmlElement) -> str:
    """The version of a file that does not say it."""
    space = root.attributes.get(f"xmlns:{root.prefix[:-1]}" if root.prefix else "xmlns", "")
    return space.removeprefix(_NAMESPACE) if space.startswith(_NAMESPACE) else ""


class _Xliff:
    """The slots of a file, and the language that it says its sources are in."""

    def __init__(self, text: str, root: XmlElement, languages: FileLanguages) -> None:
        self._text, self._root, self._languages = text, root, languages
        self.source_language: str | None = None

    def _agree(self, element: XmlElement, source: str, target: str) -> None:
        said = self._languages.agreed_source(element.attributes.get(source))
        if self.source_language and said and said != self.source_language:
            raise DataError(
                f"the file has parts in {self.source_language!r} and in {said!r}; split it"
            )
        self.source_language = self.source_language or said
        self._languages.check_target(element.attributes.get(target))

    def _says_target(self, element: XmlElement, name: str) -> Iterator[Slot]:
        """The target language, for an element that does not say it."""
        if not element.attributes.get(name):
            tag = self._text[element.start : element.inner]
            changed = with_attribute(tag, name, self._languages.target.replace("_", "-"))
            yield fixed(element.start, element.inner, changed)

    def _units(
        self, files: Sequence[XmlElement], groups: Collection[str], name: str
    ) -> Iterator[tuple[XmlElement, bool]]:
        """The units of a name to translate, each with whether its white space counts."""
        waiting = [(file, True, _keeps_space(self._root)) for file in reversed(files)]
        while waiting:
            element, translates, is_kept = waiting.pop()
            said = element.attributes.get("translate")
            translates = said != "no" if said else translates
            is_kept = _keeps_space(element, is_kept)
            if element.local_name != name:
                waiting += [
                    (child, translates, is_kept)
                    for child in reversed(element.children)
                    if child.local_name in groups or child.local_name == name
                ]
            elif translates:
                yield element, is_kept

    def _target(
        self,
        source: XmlElement,
        target: XmlElement | None,
        place: int,
        values: Sequence[StringValue],
        write: Callable[[Sequence[str]], str],
        *,
        state: str = "",
    ) -> Slot:
        """A target with its values and state, instead of an empty one or else at a place."""
        name = f"{source.prefix}target"
        if target is None:
            lead = space_before(self._text, source.start)
            tag = f"{lead}<{name}>"
            start = stop = place
        else:
            tag = self._text[target.start : target.inner]
            name, start, stop = target.name, target.start, target.stop
            if target.is_tag:
                tag = f"{tag[:-2].rstrip()}>"
        if state:
            tag = with_attribute(tag, "state", state)
        return Slot(start, stop, values, lambda found: f"{tag}{write(found)}</{name}>")


class _Version1(_Xliff):
    def slots(self) -> list[Slot]:
        slots: list[Slot] = []
        for file in self._root.named("file"):
            self._agree(file, "source-language", "target-language")
            units = self._units([file], ("body", "group"), "trans-unit")
            of_file = [slot for unit, is_kept in units for slot in self._unit(unit, is_kept)]
            if of_file:
                slots += [*self._says_target(file, "target-language"), *of_file]
        return slots

    def _unit(self, unit: XmlElement, is_kept: bool) -> Iterator[Slot]:
        source, target = unit.first("source"), unit.first("target")
        if source is None or not source.has_text or unit.attributes.get("approved") == "yes":
            return
        if target is not None and _is_filled(target):
            return
        segmented = unit.first("seg-source")
        is_kept = _keeps_space(source, is_kept)
        content = segmented or source
        values, write = _segments(self._text, content, self._languages.target, is_kept=is_kept)
        if any(value.texts for value in values):
            yield self._target(source, target, content.stop, values, write, state=_MADE_1)


def _keeps_space(element: XmlElement, is_kept: bool = False) -> bool:
    """Whether white space of an element counts: as it says, or else as what it is in."""
    said = element.attributes.get("xml:space")
    return said == "preserve" if said else is_kept


def _is_filled(target: XmlElement) -> bool:
    """Whether a target has a translation, which marks of segments alone are not."""
    if target.attributes.get("state") in UNDONE:
        return False
    content = [token for token in target.tokens if token.kind != "close" and not _is_segment(token)]
    return any(one.kind != "text" or not one.raw.isspace() for one in content)


def _is_segment(one: MarkupToken | XmlElement) -> bool:
    name = one.local_name
    return name == "mrk" and one.attributes.get("mtype") == "seg"


def _value(tokens: Sequence[MarkupToken], language: str, *, is_kept: bool) -> StringValue:
    """A segment.  Line breaks with indentation are spaces, unless it keeps white space."""
    if is_coded_message(tokens):
        return CodedMessage(tokens, language)
    if all(token.kind == "text" for token in tokens):
        raw = "".join(one.raw for one in tokens)
        alternatives = read_escaped_alternatives(raw, language, ANY)
        if alternatives is not None:
            return alternatives
    is_indented = any(one.kind == "text" and _INDENTED.search(one.raw) for one in tokens)
    return CodedValue(tokens, collapses=is_indented and not is_kept)


def _segments(
    text: str, content: XmlElement, language: str, *, is_kept: bool
) -> tuple[list[StringValue], Callable[[Sequence[str]], str]]:
    """The segments of a source, and how the target with them is written."""
    marked = [part for part in content.walk() if _is_segment(part) and not part.is_tag]
    parts = [(one.inner, one.end, one.tokens) for one in marked]
    if not parts:
        parts = [(content.inner, content.end, content.tokens)]

    def write(found: Sequence[str]) -> str:
        written, place = [], content.inner
        for (start, end, _), one in zip(parts, found, strict=True):
            written += [text[place:start], one]
            place = end
        return "".join([*written, text[place : content.end]])

    return [_value(tokens, language, is_kept=is_kept) for _, _, tokens in parts], write


class _Version2(_Xliff):
    def slots(self) -> list[Slot]:
        self._agree(self._root, "srcLang", "trgLang")
        slots = [
            slot
            for unit, is_kept in self._units(self._root.named("file"), ("group",), "unit")
            for segment in unit.named("segment")
            for slot in self._segment(segment, is_kept)
        ]
        return [*self._says_target(self._root, "trgLang"), *slots] if slots else []

    def _segment(self, segment: XmlElement, is_kept: bool) -> Iterator[Slot]:
        source, target = segment.first("source"), segment.first("target")
        if source is None or not source.has_text or (target is not None and target.has_text):
            return
        is_kept = _keeps_space(source, _keeps_space(segment, is_kept))
        value = _value(source.tokens, self._languages.target, is_kept=is_kept)
        if not value.texts:
            return
        tag = self._text[segment.start : segment.inner]
        changed = with_attribute(tag, "state", _MADE_2)
        yield fixed(segment.start, segment.inner, changed, segment.start)
        slot = self._target(source, target, source.stop, [value], lambda found: found[0])
        yield replace(slot, group=segment.start)
