"""Text with the inline codes of XLIFF and TMX, as texts to translate."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from typing_extensions import override

from dragoman.core.unseen import is_unseen
from dragoman.documents.marks.marked_document import (
    Elements,
    MarkedDocument,
    find_elements,
    tag_piece,
)
from dragoman.documents.marks.marked_text import MarkedText, escaped
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece, parted
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.strings.string_placeholders import (
    apart,
    filled_in,
    in_order,
    same_placeholders,
    without_stray,
)
from dragoman.documents.strings.string_syntax import ANY, StringSyntax
from dragoman.documents.strings.string_values import (
    StringValue,
    WrittenText,
    are_unchanged,
    string_pieces,
    with_translations,
)
from dragoman.text.break_codes import is_breaking_code
from dragoman.text.formats.xliff import CODES, SHOWN_AS

_BEGINS = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em", "START": "CLOSE"}
_PARTNERS = ("rid", "i", "id", "startRef")
_TAG_OF_ANGULAR = re.compile(r"(START|CLOSE)_(.+?)(?:_\d+)?")
"""The name of an ``x``: ``START_LINK_1`` is closed by ``CLOSE_LINK``, as all links are."""
_FLOW = re.compile("\x01([0-9]+)\x02")
"""Stands for a sub-flow.  No document of XML has these characters."""
SECTION, SECTION_END = "<![CDATA[", "]]>"
SECTIONS = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos);")
_LINE_END = re.compile(r"((?<!\s)\s*\n\s*)")


class CodedValue(StringValue):
    """The content of a segment.  If it collapses, white space of any length is a space."""

    def __init__(
        self,
        tokens: Sequence[MarkupToken],
        *,
        collapses: bool = False,
        syntax: StringSyntax = ANY,
    ) -> None:
        self._syntax = syntax
        self.source = "".join(token.raw for token in tokens)
        self._without_sections = "".join(_section_as_text(token) for token in tokens)
        tokens, flows = _without_flows(tokens)
        self._flows = [
            CodedValue(flow_tokens, collapses=collapses, syntax=syntax) for flow_tokens in flows
        ]
        pieces = list(coded_pieces(tokens, syntax))
        if not collapses:
            pieces = [part for piece in pieces for part in line_pieces(piece)]
        parts = written_parts(pieces, escaped, syntax, collapses=collapses)
        self._document = MarkedDocument(list(parts))
        self._own = len(self._document.texts)
        self.texts = [
            *self._document.texts,
            *(text for flow in self._flows for text in flow.texts),
        ]

    @override
    def joined(self, translations: Sequence[str]) -> str:
        if are_unchanged(self.texts, translations):
            return self.source
        with_flows = self._with_flows(
            self._document.joined(translations[: self._own]), translations[self._own :]
        )
        if with_flows is None:
            return self.source
        joined = apart(self._without_sections, with_flows, self._syntax)
        bare = joined.replace(SECTION, "").replace(SECTION_END, "")
        source, written = html.unescape(self._without_sections), html.unescape(bare)
        if not same_placeholders(source, written, self._syntax):
            return self.source
        ordered = in_order(self._without_sections, joined, self._syntax)
        return SECTIONS.sub(lambda section: as_section(unescaped(section[1])), ordered)

    def _with_flows(self, joined: str, translations: Sequence[str]) -> str | None:
        """A translation with the content of its codes, or None if it cannot be written."""
        flows: list[str] = []
        for flow, mine in with_translations(self._flows, translations):
            flows.append(flow.joined(mine))
            if flow.is_refused(mine, flows[-1]):
                return None
        return _FLOW.sub(lambda place: flows[int(place[1])], joined)


def _without_flows(
    tokens: Sequence[MarkupToken],
) -> tuple[list[MarkupToken], list[Sequence[MarkupToken]]]:
    """Tokens with the number of each sub-flow in its place, and the tokens of the sub-flows.

    A sub-flow (``sub``) is text within a code, such as the description of a picture, and is
    translated by itself.
    """
    ends = find_elements(tokens).ends
    others: list[MarkupToken] = []
    flows: list[Sequence[MarkupToken]] = []
    index = 0
    while index < len(tokens):
        token, end = tokens[index], ends.get(index, index)
        others.append(token)
        if end > index and _is_kept(token):
            others += tokens[index + 1 : end + 1]
            index = end
        elif end > index and token.local_name == "sub":
            others.append(MarkupToken("opaque", f"\x01{len(flows)}\x02"))
            flows.append(tokens[index + 1 : end])
            index = end - 1
        index += 1
    return others, flows


def section_text(token: MarkupToken) -> str | None:
    """The text of a section of CDATA, or None if a token is none."""
    if token.kind != "opaque" or not token.raw.startswith(SECTION):
        return None
    return token.raw[len(SECTION) : -len(SECTION_END)]


def as_section(text: str) -> str:
    """A text as a section of CDATA, or as two if it contains the end of a section."""
    return f"{SECTION}{text.replace(SECTION_END, ']]]]><![CDATA[>')}{SECTION_END}"


def _section_as_text(token: MarkupToken) -> str:
    """A token as it is written, but a section of CDATA as text with escapes."""
    text = section_text(token)
    return token.raw if text is None else escaped(text)


def text_pieces(
    raw: str,
    reading: Callable[[str], str] = html.unescape,
    writing: Callable[[str], str] = escaped,
    syntax: StringSyntax = ANY,
) -> Iterator[MarkupPiece]:
    """Text as it is written in markup, in pieces: placeholders and escaped tags are apart.

    ``reading`` makes text of what is written, and ``writing`` does the reverse.
    """
    text = reading(raw)
    atoms = {span: text[slice(*span)] for span in filled_in(text, syntax)}
    entities = [match.span() for match in ENTITY.finditer(text)]
    if entities:  # of HTML, as the whole text is then
        atoms |= {span: html.unescape(text[slice(*span)]) for span in entities}
        atoms = dict(sorted(atoms.items()))
    for piece in string_pieces(text, atoms, finds_escapes=reading is html.unescape):
        yield replace(piece, raw=(escaped if piece.kind == "text" else writing)(piece.raw))


def line_pieces(piece: MarkupPiece, writing: Callable[[str], str] = escaped) -> list[MarkupPiece]:
    """A piece of text with its line ends as breaks; any other piece alone."""
    if piece.kind != "text":
        return [piece]
    parts = enumerate(_LINE_END.split(piece.raw))
    return [
        MarkupPiece("break", writing(html.unescape(part)))
        if number % 2
        else MarkupPiece("text", part)
        for number, part in parts
    ]


def unescaped(section: str) -> str:
    """The reverse of :func:`~dragoman.documents.marks.marked_text.escaped`, and nothing more."""
    return section.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def written_parts(
    pieces: Sequence[MarkupPiece],
    writing: Callable[[str], str] = escaped,
    syntax: StringSyntax = ANY,
    *,
    collapses: bool,
) -> Iterator[str | MarkedText]:
    """Texts with marks, and the raw parts between.  Text with too much markup stays as it is."""
    for part in parted(pieces):
        if isinstance(part, str):
            yield part
        elif (text := _written_text(part, writing, syntax, collapses=collapses)) is not None:
            yield text
        else:
            yield "".join(
                writing(html.unescape(piece.raw)) if piece.kind == "text" else piece.raw
                for piece in part
            )


def _written_text(
    pieces: Sequence[MarkupPiece],
    writing: Callable[[str], str],
    syntax: StringSyntax,
    *,
    collapses: bool,
) -> MarkedText | None:
    """A text with marks, or None if there is nothing to translate, or too much markup."""
    marked = mark_pieces(pieces, collapses=collapses)
    if marked is None or marked.is_crowded:
        return None
    marked.lead, marked.tail = writing(marked.lead), writing(marked.tail)
    plain = "".join(html.unescape(one.raw) for one in pieces if one.kind == "text")
    atoms = [piece for piece in pieces if piece.kind == "atom"]
    placeholders = {text for atom in atoms for text in (atom.content, html.unescape(atom.raw))}

    def write(text: str) -> str:
        return writing(without_stray(text, plain, placeholders, syntax))

    return WrittenText(**vars(marked), writing=write)


def coded_pieces(
    tokens: Sequence[MarkupToken], syntax: StringSyntax = ANY
) -> Iterator[MarkupPiece]:
    """Tokens with inline codes as pieces.  Codes that begin and end a span are pairs."""
    elements = find_elements(tokens)
    pairs = _pairs(tokens)
    breaks = _breaks(tokens, elements)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        name = token.local_name
        if token.kind in ("open", "empty") and (name in CODES or _is_kept(token)):
            end = elements.ends.get(index, index)
            raw = "".join(inner.raw for inner in tokens[index : end + 1])
            if index in breaks:
                yield MarkupPiece("break", raw, token.name)
            elif index in pairs:
                kind, pair = pairs[index]
                yield MarkupPiece("open" if kind else "close", raw, pair)
            else:
                yield _code(token, tokens[index + 1 : end], raw)
            index = end + 1
            continue
        if token.kind == "text":
            yield from text_pieces(token.raw, syntax=syntax)
        elif token.kind == "opaque" and token.raw.startswith(SECTION):
            yield MarkupPiece("open", SECTION, SECTION)
            yield from text_pieces(_section_as_text(token), syntax=syntax)
            yield MarkupPiece("close", SECTION_END, SECTION)
        elif index in breaks:
            yield MarkupPiece("break", token.raw, token.name)
        else:
            yield tag_piece(token)
        index += 1


def _breaks(tokens: Sequence[MarkupToken], elements: Elements) -> set[int]:
    """Indices of tags at which a text ends.  Of an element with text, both."""
    breaks: set[int] = set()
    for index, token in enumerate(tokens):
        if token.kind not in ("open", "empty") or _is_kept(token):
            continue
        end = elements.ends.get(index, index)
        content = ""
        if token.local_name in CODES:
            content = _content(tokens[index + 1 : end])
        if is_breaking_code(token.attributes, content):
            breaks |= {index, end}
    return breaks


def _code(token: MarkupToken, content: Sequence[MarkupToken], raw: str) -> MarkupPiece:
    """A code: a word of the sentence if it stands for one, or else between words."""
    inner = _content(content)
    if _is_kept(token):
        return MarkupPiece("atom", raw, token.name, " ".join(inner.split()))
    shown = [html.unescape(token.attributes.get(name, "")) for name in (*SHOWN_AS, "ctype")]
    if any(map(is_unseen, (*shown, inner))):
        return MarkupPiece("point", raw, token.name, is_shown=False)
    for text in (*shown, inner):
        if filled_in(text) == [(0, len(text))] and not text.startswith("&"):
            return MarkupPiece("atom", raw, token.name, text)
    return MarkupPiece("point", raw, token.name)


def _content(tokens: Sequence[MarkupToken]) -> str:
    return "".join(html.unescape(token.raw) for token in tokens if token.kind == "text")


def _is_kept(token: MarkupToken) -> bool:
    """Whether an element is marked as not to be translated."""
    attributes: Mapping[str, str] = token.attributes
    return attributes.get("translate") == "no" or attributes.get("mtype") == "protected"


def _pairs(tokens: Sequence[MarkupToken]) -> dict[int, tuple[bool, str]]:
    """Indices of codes that are the begin or end of something, with a name for both."""
    begun: dict[tuple[str, str], int] = {}
    pairs: dict[int, tuple[bool, str]] = {}
    for index, token in enumerate(tokens):
        name = token.local_name
        if token.kind not in ("open", "empty"):
            continue
        key = next(
            (token.attributes[partner] for partner in _PARTNERS if partner in token.attributes), ""
        )
        if name in ("ec", "em"):
            key = token.attributes.get("startRef", "")
        if name in ("sc", "sm"):
            key = token.attributes.get("id", "")
        if name == "x" and (tag := _TAG_OF_ANGULAR.fullmatch(key)):
            name, key = tag.groups()
        if name in _BEGINS:
            begun[_BEGINS[name], key] = index
        elif (name, key) in begun:
            begin = begun.pop((name, key))
            label = f"{name} {key}"
            pairs[begin], pairs[index] = (True, label), (False, label)
    return pairs
