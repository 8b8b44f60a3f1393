"""XLIFF 1.2 and 2: targets that are missing are made, and all else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from dragoman.core.errors import DataError
from dragoman.documents.character_encoding import decode_as
from dragoman.documents.filetypes.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.languages_of_files import agreed_source, check_target
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument, fixed
from dragoman.documents.inline_codes import CodedValue
from dragoman.documents.string_values import StringValue
from dragoman.documents.xml_elements import XmlElement, read_elements, with_attribute, xml_label

_MADE_1 = "needs-review-translation"
_MADE_2 = "translated"
_UNDONE = ("new", "needs-translation")
_SPACE = re.compile(r"\s*$")


class XliffFile(DocumentFormat):
    """XLIFF: OASIS Standard 1.2 (2008) and 2.1 (2018), and 2.0 and 2.2."""

    name = "XLIFF"
    suffixes = (".xlf", ".xliff")
    media_type = "application/xliff+xml"

    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        """See :meth:`DocumentFormat.read`."""
        text, encoding = decode_as(content, xml_label(content))
        root = read_elements(text)
        if root.local_name != "xliff":
            raise DataError(f"the file is not XLIFF: it begins with <{root.name}>")
        version = root.attributes.get("version", "")
        if not version.startswith(("1.", "2.")):
            raise DataError(f"XLIFF of version {version!r} is not read; give 1.2 or 2")
        reading = _Version1 if version.startswith("1.") else _Version2
        found = reading(text, root, languages)
        return SplicedDocument(
            text, encoding, found.slots(), source_language=found.source_language, is_markup=True
        )


class _Xliff:
    """What is translated of a file.

    Attributes:
        source_language: that it says.
    """

    def __init__(self, text: str, root: XmlElement, languages: FileLanguages) -> None:
        self._text, self._root, self._languages = text, root, languages
        self.source_language: str | None = None

    def _agree(self, element: XmlElement, source: str, target: str) -> None:
        said = agreed_source(element.attributes.get(source), self._languages)
        if self.source_language and said and said != self.source_language:
            raise DataError(
                f"the file has parts in {self.source_language!r} and in {said!r}; split it"
            )
        self.source_language = self.source_language or said
        check_target(element.attributes.get(target), self._languages)

    def _says_target(self, element: XmlElement, name: str) -> Iterator[Slot]:
        """The target language, for an element that does not say it."""
        if not element.attributes.get(name):
            tag = self._text[element.start : element.inner]
            changed = with_attribute(tag, name, self._languages.target.replace("_", "-"))
            yield fixed(element.start, element.inner, changed)

    def _target(
        self,
        source: XmlElement,
        target: XmlElement | None,
        after: XmlElement,
        values: Sequence[StringValue],
        write: Callable[[Sequence[str]], str],
        attribute: str = "",
    ) -> Slot:
        """A target with its translation, in its place or after another element."""
        name = f"{source.prefix}target"
        if target is None:
            space = _SPACE.search(self._text, 0, source.start)
            lead = space[0] if space else ""
            tag = f"<{name}{attribute}>"
            return Slot(
                after.stop,
                after.stop,
                values,
                lambda found: f"{lead}{tag}{write(found)}</{name}>",
            )
        tag = self._text[target.start : target.inner]
        if target.is_tag:
            tag = f"{tag[:-2].rstrip()}>"
        if attribute:
            key, _, quoted = attribute.strip().partition("=")
            tag = with_attribute(tag, key, quoted.strip('"'))
        return Slot(
            target.start, target.stop, values, lambda found: f"{tag}{write(found)}</{target.name}>"
        )


class _Version1(_Xliff):
    """XLIFF 1.2."""

    def slots(self) -> list[Slot]:
        found: list[Slot] = []
        for file in self._root.named("file"):
            self._agree(file, "source-language", "target-language")
            slots = list(self._units(file))
            if slots:
                found += [*self._says_target(file, "target-language"), *slots]
        return found

    def _units(self, file: XmlElement) -> Iterator[Slot]:
        waiting = [(file, True)]
        while waiting:
            element, translates = waiting.pop()
            said = element.attributes.get("translate")
            translates = said != "no" if said else translates
            if element.local_name == "trans-unit":
                if translates and element.attributes.get("approved") != "yes":
                    yield from self._unit(element)
                continue
            waiting += [
                (one, translates)
                for one in reversed(element.children)
                if one.local_name in ("body", "group", "trans-unit")
            ]

    def _unit(self, unit: XmlElement) -> Iterator[Slot]:
        source, target = unit.first("source"), unit.first("target")
        if source is None or not source.has_text:
            return
        if target is not None and target.has_text and target.attributes.get("state") not in _UNDONE:
            return
        segmented = unit.first("seg-source")
        after = segmented or source
        value, write = _segments(self._text, segmented or source)
        if any(one.texts for one in value):
            yield self._target(source, target, after, value, write, f' state="{_MADE_1}"')


def _segments(
    text: str, content: XmlElement
) -> tuple[list[StringValue], Callable[[Sequence[str]], str]]:
    """The segments of a source, and how the target with them is written."""
    marked = [
        one
        for one in content.walk()
        if one.local_name == "mrk" and one.attributes.get("mtype") == "seg"
    ]
    parts = [(one.inner, one.end, one.tokens) for one in marked if not one.is_tag]
    if not parts:
        parts = [(content.inner, content.end, content.tokens)]

    def write(found: Sequence[str]) -> str:
        written, place = [], content.inner
        for (start, end, _), one in zip(parts, found, strict=True):
            written += [text[place:start], one]
            place = end
        return "".join([*written, text[place : content.end]])

    return [CodedValue(tokens) for _, _, tokens in parts], write


class _Version2(_Xliff):
    """XLIFF 2."""

    def slots(self) -> list[Slot]:
        self._agree(self._root, "srcLang", "trgLang")
        waiting = [(one, True) for one in reversed(self._root.named("file"))]
        found: list[Slot] = []
        while waiting:
            element, translates = waiting.pop()
            said = element.attributes.get("translate")
            translates = said != "no" if said else translates
            if element.local_name == "unit":
                if translates:
                    for segment in element.named("segment"):
                        found += self._segment(segment)
                continue
            waiting += [
                (one, translates)
                for one in reversed(element.children)
                if one.local_name in ("group", "unit")
            ]
        return [*self._says_target(self._root, "trgLang"), *found] if found else []

    def _segment(self, segment: XmlElement) -> Iterator[Slot]:
        source, target = segment.first("source"), segment.first("target")
        if source is None or not source.has_text or (target is not None and target.has_text):
            return
        value = CodedValue(source.tokens)
        if not value.texts:
            return
        tag = self._text[segment.start : segment.inner]
        changed = with_attribute(tag, "state", _MADE_2)
        yield fixed(segment.start, segment.inner, changed)
        yield self._target(source, target, source, [value], lambda found: found[0])
