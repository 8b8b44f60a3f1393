"""Strings of Android apps: ``res/values/strings.xml``."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.spliced_document import (
    Slot,
    SplicedDocument,
    fixed,
    replacement,
    space_before,
)
from dragoman.documents.marks.marked_document import MarkedDocument, find_elements, tag_piece
from dragoman.documents.marks.marked_text import MarkedText, escaped
from dragoman.documents.marks.markup_pieces import MarkupPiece
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.strings.inline_codes import (
    ENTITY,
    SECTION,
    SECTION_END,
    SECTIONS,
    line_pieces,
    section_text,
    text_pieces,
    unescaped,
    written_parts,
)
from dragoman.documents.strings.plural_rules import plural_forms, source_forms
from dragoman.documents.strings.string_placeholders import (
    TAG,
    apart,
    count_span,
    filled_in,
    in_order,
    same_placeholders,
)
from dragoman.documents.strings.string_syntax import JAVA
from dragoman.documents.strings.string_values import (
    StringValue,
    are_unchanged,
    is_code,
    mark_string,
    string_pieces,
    without_spaces,
)
from dragoman.documents.xml import XmlElement, read_xml_file, with_attribute
from dragoman.text.break_codes import BREAKING_TAGS
from dragoman.text.character_encoding import line_of
from dragoman.text.string_files.android_entries import is_reference, shown_string
from dragoman.text.string_files.keyed_string import Key

_LEAD = re.compile(r"(?:\s|\\[nt]|\\u0020|\\u00[aA]0)*")
_SPACES = re.compile(r"(?:\s|\\[nt]|\\u0020|\\u00[aA]0)+")
_QUOTED_LEAD = re.compile(r"\s*\"(?:\s|\\[nt])*")
_QUOTED_SPACES = re.compile(r"(?:\s|\\[nt])+")
_WRITTEN = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t"}


class AndroidFile(DocumentFormat):
    """Resources of Android: strings, arrays of strings, plurals."""

    name = "Android"
    family = "translation files"
    suffixes = (".xml",)
    media_type = "application/xml"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding, root = read_xml_file(content)
        if root.name != "resources":
            raise DataError(
                f"the file begins with <{root.name}>; of XML, strings of Android are translated, "
                "which begin with <resources>"
            )
        slots: list[Slot] = []
        for child in root.children:
            try:
                slots += _slots(text, child, languages.target)
            except UnicodeDecodeError as error:
                raise DataError(
                    f"line {line_of(text, child.start)}: half of a surrogate pair; correct it"
                ) from error
        return SplicedDocument(text, encoding, slots, is_markup=True)


def _slots(text: str, element: XmlElement, target: str) -> Iterator[Slot]:
    if element.attributes.get("translatable") == "false" or element.is_tag:
        return
    is_item = element.name == "item" and element.attributes.get("type") == "string"
    name = element.attributes.get("name", "")
    if element.name == "string" or is_item:
        yield _slot(element, (name,))
    elif element.name == "string-array":
        items = enumerate(element.named("item"))
        yield from (_slot(one, (name, str(at))) for at, one in items if not one.is_tag)
    elif element.name == "plurals":
        yield from _plural(text, element, target)


def _slot(element: XmlElement, key: Key) -> Slot:
    value = AndroidValue(element.tokens)
    return replacement(element.inner, element.end, value, str, key=key)


def _plural(text: str, element: XmlElement, target: str) -> Iterator[Slot]:
    """Forms of the target language.  Others are removed, since no number has them."""
    items = {item.attributes.get("quantity", ""): item for item in element.named("item")}
    key = element.attributes.get("name", "")
    if "other" not in items:
        given = items.items()
        yield from (_slot(item, (key, name)) for name, item in given if not item.is_tag)
        return
    contents = {name: text[item.inner : item.end] for name, item in items.items()}
    if not AndroidValue(items["other"].tokens).texts:
        return
    forms = source_forms(contents, target, syntax=JAVA)
    wanted = {
        name: AndroidValue(items[form].tokens, number, contents.get("one", ""))
        for name, (form, number) in forms.items()
    }
    other = items["other"]
    for name, item in items.items():
        if name in wanted:
            own = key, name
            yield replacement(item.inner, item.end, wanted[name], str, contents[name], key=own)
        elif name in plural_forms("ar"):  # a name of a form, but of other languages
            yield fixed(item.start - len(space_before(text, item.start)), item.stop, "")
    tag = text[other.start : other.inner]
    place = other.start
    for name, value in wanted.items():
        if name in items:
            continue
        head = with_attribute(tag, "quantity", name)
        lead = space_before(text, other.start)
        yield Slot(
            place,
            place,
            [value],
            lambda found, head=head, lead=lead: f"{head}{found[0]}</{other.name}>{lead}",  # type: ignore[misc]
            keys=[(key, name)],
        )


class AndroidValue(StringValue):
    """A string with the escapes, tags and sections of a resource.

    While it is translated, a ``number`` is written instead of the placeholder of the count, which
    the ``singular``, the form for 1, may lack.
    """

    def __init__(
        self, tokens: Sequence[MarkupToken], number: int | None = None, singular: str = ""
    ) -> None:
        self.source = "".join(token.raw for token in tokens)
        self._document = MarkedDocument()
        self.texts: Sequence[MarkedText] = []
        if is_reference(self.source) or is_code(shown_string(html.unescape(self.source))):
            return
        count = {} if number is None else _count(self.source, number, singular)
        self._has_escaped_sections = _is_mixed(tokens)
        parts = _run(tokens, count) if self._has_escaped_sections else _parts(tokens, count)
        self._document = MarkedDocument(list(parts))
        self.texts = self._document.texts

    @override
    def joined(self, translations: Sequence[str]) -> str:
        if are_unchanged(self.texts, translations):
            return self.source
        written = self._document.joined(translations)
        if self._has_escaped_sections:
            written = SECTIONS.sub(
                lambda one: f"{SECTION}{unescaped(one[1])}{SECTION_END}", written
            )
        joined = apart(self.source, written, JAVA)
        if not same_placeholders(html.unescape(self.source), html.unescape(joined), JAVA):
            return self.source
        return in_order(self.source, joined, JAVA)


def _count(raw: str, number: int, singular: str) -> Mapping[str, str]:
    """The placeholder of the count of a string, with what is written instead of it."""
    text, one = _shown(raw), _shown(singular)
    span = count_span(text, filled_in(text, JAVA), JAVA, singular=one)
    return {} if span is None else {without_spaces(text[slice(*span)]): str(number)}


def _shown(raw: str) -> str:
    return shown_string(html.unescape(TAG.sub("", raw)))


def _parts(tokens: Sequence[MarkupToken], count: Mapping[str, str]) -> Iterator[str | MarkedText]:
    """The texts of a string: sections of CDATA, and the parts around them."""
    part: list[MarkupToken] = []
    for token in tokens:
        if (inner := section_text(token)) is not None:
            yield from _run(part, count)
            part = []
            yield SECTION
            names = ((span, inner[slice(*span)]) for span in filled_in(inner, JAVA))
            atoms = {span: count.get(without_spaces(name), name) for span, name in names}
            yield from mark_string(inner, atoms, shown_string, _write_section, syntax=JAVA)
            yield SECTION_END
        else:
            part.append(token)
    yield from _run(part, count)


def _is_section(token: MarkupToken) -> bool:
    return section_text(token) is not None


def _is_mixed(tokens: Sequence[MarkupToken]) -> bool:
    """Whether sections of CDATA are parts of a sentence, as in ``one <![CDATA[<b>two</b>]]>``."""
    if not any(map(_is_section, tokens)):
        return False
    outside = shown_string(
        " ".join(html.unescape(token.raw) for token in tokens if token.kind == "text")
    )
    for start, stop in reversed(filled_in(outside, JAVA)):
        outside = outside[:start] + outside[stop:]
    return any(map(str.isalpha, outside))


def _section_pieces(section: MarkupToken) -> Iterator[MarkupPiece]:
    """A section among words, as a pair of tags around what it has, which is escaped.

    It is unescaped when the whole string is written, since words may go into it or out of it.
    """
    inner = section_text(section) or ""
    spans = [*filled_in(inner, JAVA), *(match.span() for match in ENTITY.finditer(inner))]
    atoms = {span: html.unescape(inner[slice(*span)]) for span in sorted(spans)}
    yield MarkupPiece("open", SECTION, SECTION)
    for piece in string_pieces(inner, atoms, finds_escapes=False):
        raw = shown_string(piece.raw) if piece.kind == "text" else piece.raw
        yield from line_pieces(replace(piece, raw=escaped(raw)), _write)
    yield MarkupPiece("close", SECTION_END, SECTION)


def _run(tokens: Sequence[MarkupToken], count: Mapping[str, str]) -> Iterator[str | MarkedText]:
    raw = "".join(
        token.raw
        if (text := section_text(token)) is None
        else f"{SECTION}{escaped(text)}{SECTION_END}"
        for token in tokens
    )
    lead, tail = _around(tokens)
    quoted = _quoted(raw)
    if quoted is not None:
        lead, tail = quoted
    inner = list(tokens)
    if inner and inner[0].kind == "text":
        inner[0] = MarkupToken("text", inner[0].raw[len(lead) :])
    else:
        lead = ""
    if inner and inner[-1].kind == "text" and (len(inner) > 1 or inner[0].raw):
        inner[-1] = MarkupToken("text", inner[-1].raw[: len(inner[-1].raw) - len(tail)])
    else:
        tail = ""
    pieces = list(_pieces(inner, count, partial(shown_string, keeps_space=quoted is not None)))
    parts = list(written_parts(pieces, _write, JAVA, collapses=False))
    if any(isinstance(part, MarkedText) for part in parts):
        yield from (lead, *parts, tail)
    else:
        yield raw


def _around(tokens: Sequence[MarkupToken]) -> tuple[str, str]:
    """White space at the ends of a string, as it is written."""
    first = tokens[0].raw if tokens and tokens[0].kind == "text" else ""
    last = tokens[-1].raw if tokens and tokens[-1].kind == "text" else ""
    lead = _LEAD.match(first)
    return lead[0] if lead else "", last[_begin_of_end(_SPACES, last) :]


def _quoted(raw: str) -> tuple[str, str] | None:
    """Text around the words of a string in quotation marks, or None if it is not in such marks.

    By hand: a regular expression that looks for the end needs quadratic time.
    """
    lead, end = _QUOTED_LEAD.match(raw), len(raw.rstrip()) - 1
    if lead is None or lead.end() >= end or raw[lead.end()] == '"':
        return None
    if raw[end] != '"' or raw[end - 1] == "\\":
        return None
    return lead[0], raw[_begin_of_end(_QUOTED_SPACES, raw[:end]) :]


def _begin_of_end(kind: re.Pattern[str], text: str) -> int:
    """Start of the run that ends a text; its length if it does not end with one."""
    runs = (found.span() for found in kind.finditer(text))
    begin = next((start for start, end in runs if end == len(text)), len(text))
    if (begin - len(text[:begin].rstrip("\\"))) % 2:  # its first sign is escaped
        begin += 1
        return begin + _begin_of_end(kind, text[begin:])
    return begin


def _pieces(
    tokens: Sequence[MarkupToken], count: Mapping[str, str], reading: Callable[[str], str]
) -> Iterator[MarkupPiece]:
    def read(raw: str) -> str:
        return reading(html.unescape(raw))

    elements = find_elements(tokens)
    index = 0
    while index < len(tokens):
        token, end = tokens[index], elements.ends.get(index, index)
        if token.kind == "text":
            for piece in _numbered(text_pieces(token.raw, read, _write, JAVA), count):
                yield from line_pieces(piece, _write)
        elif _is_section(token):
            yield from _numbered(_section_pieces(token), count)
        elif token.local_name == "g" and token.kind in ("open", "empty"):
            inside = tokens[index + 1 : end]
            content = read("".join(one.raw for one in inside if one.kind == "text"))
            raw = "".join(one.raw for one in tokens[index : end + 1])
            yield from _numbered([MarkupPiece("atom", raw, content=content.strip())], count)
            index = end
        elif token.name.lower() in BREAKING_TAGS:
            yield MarkupPiece("break", token.raw, token.name)
        else:
            yield tag_piece(token)
        index += 1


def _numbered(
    pieces: Iterator[MarkupPiece] | list[MarkupPiece], count: Mapping[str, str]
) -> Iterator[MarkupPiece]:
    """The pieces with a number instead of the placeholder of a count."""
    for piece in pieces:
        is_count = piece.kind == "atom" and piece.content in count
        yield replace(piece, content=count[piece.content]) if is_count else piece


def _write(text: str) -> str:
    return escaped(_write_section(text))


def _write_section(text: str) -> str:
    """Text with the escapes of Android, but not those of XML."""
    text = text.replace(SECTION_END, "] ]>")
    written = "".join(_WRITTEN.get(sign, sign) for sign in text)
    return f"\\{written}" if written[:1] in ("@", "?") else written
