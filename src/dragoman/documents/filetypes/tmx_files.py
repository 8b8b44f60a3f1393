"""TMX: units without the target language get it, and all else stays as it is."""

from __future__ import annotations

import html
from collections.abc import Iterator

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages, is_same_language
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument, space_before
from dragoman.documents.strings.inline_codes import CodedValue
from dragoman.documents.strings.string_syntax import StringSyntax, shown_syntax
from dragoman.documents.xml import XmlElement, read_xml_file
from dragoman.text.language_codes import spelling

_ANY = "*all*"


class TmxFile(DocumentFormat):
    """TMX 1.4b (LISA, 2005)."""

    name = "TMX"
    family = "translation files"
    suffixes = (".tmx",)
    media_type = "application/x-tmx+xml"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding, root = read_xml_file(content)
        if root.local_name != "tmx":
            raise DataError(f"the file is not TMX: it begins with <{root.name:.80}>")
        source = _source(root, languages)
        body = root.first("body")
        units = [] if body is None else body.named("tu")
        syntax = shown_syntax([html.unescape(text)])
        slots = [
            slot for unit in units for slot in _slots(text, unit, source, languages.target, syntax)
        ]
        return SplicedDocument(text, encoding, slots, source_language=source, is_markup=True)


def _source(root: XmlElement, languages: FileLanguages) -> str:
    """The language of the sources, as the client says or else the file."""
    if languages.source:
        return languages.source
    header = root.first("header")
    said = "" if header is None else header.attributes.get("srclang", "")
    if not said or said.lower() == _ANY:
        raise DataError("the file does not say which of its languages is the source; ask for one")
    return said


def _best_match(wanted: str, codes: list[str]) -> int | None:
    """Which of some codes is a language: the same code, or else one of another region."""
    same = [at for at, code in enumerate(codes) if spelling(code) == spelling(wanted)]
    near = [at for at, code in enumerate(codes) if is_same_language(code, wanted)]
    return next(iter([*same, *near]), None)


def _slots(
    text: str, unit: XmlElement, source: str, target: str, syntax: StringSyntax
) -> Iterator[Slot]:
    variants = unit.named("tuv")
    codes = [
        variant.attributes.get("xml:lang", variant.attributes.get("lang", ""))
        for variant in variants
    ]
    at = _best_match(source, codes)
    if at is None:
        return
    place = _best_match(target, codes)
    segment = variants[at].first("seg")
    if segment is None:
        return
    value = CodedValue(segment.tokens, syntax=syntax)
    if not value.texts:
        return
    last = variants[-1]
    lead = space_before(text, last.start)
    if place is None:
        head = f'<{last.prefix}tuv xml:lang="{html.escape(target.replace("_", "-"))}"'
        tag = f'{head} creationtool="Dragoman"><{segment.name}>'
        tail = f"</{segment.name}></{last.prefix}tuv>"
        yield Slot(last.stop, last.stop, [value], lambda one: f"{lead}{tag}{one[0]}{tail}")
        return
    empty = variants[place].first("seg")
    if place != at and empty is not None and not empty.has_text:
        yield Slot(
            empty.start,
            empty.stop,
            [value],
            lambda one: f"<{empty.name}>{one[0]}</{empty.name}>",
        )
