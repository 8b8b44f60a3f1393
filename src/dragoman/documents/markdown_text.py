"""Texts of Markdown: read into marks, and written so that no word becomes markup by accident."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt

from dragoman.documents.html import BLOCKS, NO_PROSE
from dragoman.documents.markdown_dialects import ATTRIBUTES
from dragoman.documents.markdown_inline import (
    Environment,
    InlinePiece,
    inline_pieces,
    shape_of,
    shaped,
    text_shape,
)
from dragoman.documents.marked_text import MarkedText, walk
from dragoman.documents.marking import MarkupPiece, joined_texts, mark_pieces
from dragoman.documents.markup_tokens import html_tokens
from dragoman.documents.numbered_marks import (
    KEPT_BREAK,
    KEPT_SPACE,
    NumberedText,
    as_number,
    number_of,
    text_and_numbers,
)
from dragoman.translation.service.placeholders import protected

Setting = Literal["paragraph", "heading", "underlined", "cell", "label", "title"]
"""Where a text is, which decides what of it would be markup; a label describes an image."""

_SIGNS = re.compile(r"[\\`*_\[\]<&~]")
_ALL_SIGNS = re.compile(r"[!-/:-@\[-`{-~]")
_FIRST_SIGN = re.compile(r"^(\d{0,9})([#>+=|:.)-])")
_MOST_CAUTION = 3
_CAUTION = ((0, False), (1, False), (2, False), (0, True), (1, True), (2, True), (3, True))
"""How a passage is written, until it means what it should: levels of caution, and whether emphasis
is HTML; see :class:`_Writing`."""
# In front of these, a line is not broken: at its start, they would be markup.
_UNBREAKABLE = re.compile(r"[-+*=#>|~`<:]|\d+[.)]")
_MOST_MARKS = 100
"""In a text.  Placing marks takes time that grows with their number."""
_TAGS = {"em": "em", "strong": "strong", "s": "del"}


class RawMarkup(NamedTuple):
    """Markup of a text."""

    parts: tuple[str | int, ...]
    """As it is written; numbers are passages within, such as the title of a link."""
    shape: str
    """What it means."""
    tag: str | None = None
    """How else it can be written."""


Segment = RawMarkup | int
"""What is written as it is, or the number of a text."""


@dataclass
class Passage:
    """A block of text in a document, or a part of its markup."""

    source: str
    """As it is written, without what is in front of each of its lines."""
    segments: list[Segment]
    setting: Setting
    prefix: str = ""
    """What is in front of each line but the first."""
    newline: str = "\n"
    width: int | None = None
    """Columns of its lines; None if it is on one line."""


@dataclass
class MarkdownPassages:
    """Reads and writes the passages of a document.

    Attributes:
        texts: those of all passages, in order; passages name them by number.
    """

    parser: MarkdownIt
    environment: Environment
    texts: list[MarkedText] = field(default_factory=list)
    _markup: list[RawMarkup] = field(default_factory=list)
    _inner: list[Passage] = field(default_factory=list)

    def read(self, content: str, setting: Setting) -> list[Segment]:
        """The segments of a passage."""
        segments: list[Segment] = []
        pieces: list[MarkupPiece] = []
        for piece in self._markup_pieces(inline_pieces(self.parser, content, self.environment)):
            if isinstance(piece, RawMarkup):
                segments += [*self._text(pieces), piece]
                pieces = []
            else:
                pieces.append(piece)
        return [*segments, *self._text(pieces)]

    def add_inner(self, content: str, setting: Setting) -> int | None:
        """The number of a passage within markup; None if there is nothing to translate."""
        segments = self.read(content, setting)
        if not any(isinstance(one, int) for one in segments):
            return None
        self._inner.append(Passage(content, segments, setting))
        return len(self._inner) - 1

    def written(self, passage: Passage, translations: Sequence[str]) -> str:
        """A passage with its texts replaced; as it was, if there is no safe way to write them."""
        for level, uses_tags in _CAUTION:
            writing = _Writing(self, translations, level, uses_tags, passage.setting)
            text, meaning = writing.write(passage.segments)
            for lines in _laid_out(text, passage):
                if self._means(lines, passage.setting, meaning):
                    return lines.replace("\n", passage.newline + passage.prefix)
        return passage.source

    def markup(self, number: int) -> RawMarkup:
        """What a number in a text stands for."""
        return self._markup[number]

    def inner(self, number: int) -> Passage:
        """A passage within markup."""
        return self._inner[number]

    def _means(self, text: str, setting: Setting, meaning: str) -> bool:
        """Whether a text, where it is, is one block with this meaning."""
        environment = dict(self.environment)
        environment["references"] = dict(environment.get("references", {}))
        before, behind, block = _AROUND[setting]
        tokens = self.parser.parse(before + text + behind, environment)
        kinds = [token.type for token in tokens if not token.level or token.type == "inline"]
        found = [token for token in tokens if token.type == "inline"]
        if kinds != [
            f"{block}_open",
            *["inline"] * (_CELLS if block == "table" else 1),
            f"{block}_close",
        ]:
            return False
        children = found[_CELLS - 2 if block == "table" else 0].children or []
        if setting in {"label", "title"}:
            if not children or children[0].type not in {"image", "link_open"}:
                return False
            if setting == "title":
                return shaped(text_shape(str(children[0].attrGet("title")))) == shaped(meaning)
            if len(children) != 1:
                return False
            children = children[0].children or []
        return shape_of(children) == shaped(meaning)

    def _text(self, pieces: Sequence[MarkupPiece]) -> Iterator[Segment]:
        """The segments of some pieces: a text, or what has no words."""
        marked = mark_pieces(pieces, collapses=True) if pieces else None
        if marked is not None and sum(1 for _ in walk(marked.marks)) <= _MOST_MARKS:
            self.texts.append(NumberedText(**vars(marked)))
            yield len(self.texts) - 1
        elif marked is not None and len(pieces) > 1:
            joined = joined_texts(pieces)
            for piece in joined if len(joined) > 1 else pieces:
                yield from self._text([piece])
        else:
            yield from map(self._wordless, pieces)

    def _wordless(self, piece: MarkupPiece) -> RawMarkup:
        if (number := number_of(piece.raw)) is not None:
            return self._markup[number]
        return RawMarkup((piece.name,), text_shape(html.unescape(piece.raw)))

    def _markup_pieces(self, pieces: Sequence[InlinePiece]) -> Iterator[MarkupPiece | RawMarkup]:
        at = 0
        while at < len(pieces):
            piece = pieces[at]
            at += 1
            if piece.kind == "text":
                is_entity = piece.raw != piece.text and piece.raw.startswith("&")
                plain = piece.raw if is_entity else html.escape(piece.text, quote=False)
                yield MarkupPiece("text", plain, piece.raw)
            elif piece.kind == "softbreak":
                yield MarkupPiece("text", " ", " ")
            elif piece.kind == "hardbreak":
                yield RawMarkup((piece.raw[: piece.raw.index("\n")] + KEPT_BREAK,), piece.shape)
            elif piece.kind == ATTRIBUTES and at > 1 and _takes_attributes(pieces[at - 2]):
                last = self._markup[-1]
                tag = None if last.tag is None else last.tag + piece.raw
                parts, shape = (*last.parts, piece.raw), last.shape + piece.shape
                self._markup[-1] = RawMarkup(parts, shape, tag)
            elif piece.kind in {"code_inline", "autolink", ATTRIBUTES}:
                yield self._mark("atom", RawMarkup((piece.raw,), piece.shape), piece.text)
            elif piece.kind == "html_inline":
                kind, name = _html_kind(piece.raw)
                hidden = _hidden_end(pieces, at, name) if kind == "open" else 0
                if hidden:
                    whole = pieces[at - 1 : hidden]
                    written = "".join(one.raw for one in whole)
                    shape = "".join(one.shape for one in whole)
                    content = "".join(one.text for one in whole[1:-1])
                    yield self._mark("atom", RawMarkup((written,), shape), content)
                    at = hidden
                    continue
                raw = RawMarkup((piece.raw,), piece.shape)
                yield raw if name in BLOCKS else self._mark(kind, raw, name=name)
            elif piece.kind.endswith(("_open", "_close")):
                name, _, end = piece.kind.rpartition("_")
                partner = self._label_of(pieces, at - 1) if piece.kind == "link_close" else ""
                yield self._mark(
                    "open" if end == "open" else "close",
                    self._pair(piece, name, end, partner),
                    name=name,
                )
            else:
                yield self._mark("point", self._image(piece))

    def _mark(
        self,
        kind: Literal["open", "close", "point", "atom"],
        raw: RawMarkup,
        content: str = "",
        *,
        name: str = "",
    ) -> MarkupPiece:
        self._markup.append(raw)
        return MarkupPiece(kind, as_number(len(self._markup) - 1), name, content)

    def _pair(self, piece: InlinePiece, name: str, end: str, label: str) -> RawMarkup:
        if name in _TAGS:
            return RawMarkup((piece.raw,), piece.shape, piece.shape)
        if piece.raw in {"]", "][]"}:
            # The words are the name of what they refer to, and will be others.
            return RawMarkup((f"][{label}]",), piece.shape)
        return RawMarkup(tuple(self._with_title(piece.raw)), piece.shape)

    @staticmethod
    def _label_of(pieces: Sequence[InlinePiece], close: int) -> str:
        """What is written between the brackets of a link."""
        depth, at = 0, close
        while at >= 0:
            depth += {"link_close": 1, "link_open": -1}.get(pieces[at].kind, 0)
            if not depth:
                break
            at -= 1
        return " ".join("".join(one.raw for one in pieces[at + 1 : close]).split())

    def _image(self, piece: InlinePiece) -> RawMarkup:
        """An image, whose description and title are texts."""
        if piece.label is None:
            return RawMarkup((piece.raw,), piece.shape)
        start, end = piece.label
        label, rest = piece.raw[start:end], piece.raw[end:]
        number = self.add_inner(label, "label")
        if rest in {"]", "][]"}:
            rest = f"][{' '.join(label.split())}]"
        described = label if number is None else number
        return RawMarkup((piece.raw[:start], described, *self._with_title(rest)), piece.shape)

    def _with_title(self, raw: str) -> Iterator[str | int]:
        """The end of a link or image, with its title as a text."""
        found = _TITLE.fullmatch(raw)
        number = None if found is None else self.add_inner(found["title"], "title")
        if found is None or number is None:
            yield raw
        else:
            yield from (found["before"], number, found["behind"])


_TITLE = re.compile(
    r"(?P<before>\]\(\s*(?:<[^<>\n]*>|[^\s<>]+)\s+\")(?P<title>[^\"\\&<`*_~\[\]]+)(?P<behind>\"\s*\))"
)
"""With a title in which nothing is markup: links that have another keep it."""
_CELLS = 4
"""Of the table that a cell is tried in: it is the third."""
_AROUND = {
    "paragraph": ("", "", "paragraph"),
    "heading": ("# ", "", "heading"),
    "underlined": ("", "\n---", "heading"),
    "cell": ("|a|b|\n|-|-|\n|", "|z|", "table"),
    "label": ("![", "](x)", "paragraph"),
    "title": ('[x](y "', '")', "paragraph"),
}


def _takes_attributes(piece: InlinePiece) -> bool:
    """Whether attributes directly behind a piece are of it."""
    return piece.kind in {"code_inline", "image"} or piece.kind.endswith("_close")


def _html_kind(raw: str) -> tuple[Literal["open", "close", "point"], str]:
    (token, *_) = html_tokens(raw)
    if token.kind == "open":
        return "open", token.name
    return ("close", token.name) if token.kind == "close" else ("point", token.name)


def _hidden_end(pieces: Sequence[InlinePiece], at: int, name: str) -> int:
    """Where an element of HTML ends that is not translated; 0 if it is, or does not end."""
    if name not in NO_PROSE:
        return 0
    for index in range(at, len(pieces)):
        piece = pieces[index]
        if piece.kind == "html_inline" and _html_kind(piece.raw) == ("close", name):
            return index + 1
        if piece.kind == "hardbreak":
            return 0
    return 0


class _Writing:
    """Writes segments at a level of caution.

    Args:
        passages: know what numbers mean.
        translations: of all texts, with numbers for their markup.
        level: which signs are escaped: none; those that may be markup, but not in what programs
            read, which may do so before Markdown does; these too; all.
        uses_tags: whether emphasis is written as HTML, which may begin and end anywhere.
        setting: where the passage is.
    """

    def __init__(
        self,
        passages: MarkdownPassages,
        translations: Sequence[str],
        level: int,
        uses_tags: bool,
        setting: Setting,
    ) -> None:
        self._passages, self._translations = passages, translations
        self._level, self._uses_tags, self._setting = level, uses_tags, setting

    def write(self, segments: Sequence[Segment]) -> tuple[str, str]:
        """How segments are written, with signs for white space that stays, and what they mean."""
        texts, meanings = [], []
        for segment in segments:
            parts = [segment] if isinstance(segment, RawMarkup) else self._parts(segment)
            for part in parts:
                if isinstance(part, RawMarkup):
                    texts.append(self._markup(part))
                    meanings.append(part.shape)
                else:
                    texts.append(self._escaped(part, starts=_starts_line(texts)))
                    meanings.append(text_shape(part))
        text = "".join(texts).strip(" ")
        return text.replace("|", r"\|") if self._setting == "cell" else text, "".join(meanings)

    def _parts(self, number: int) -> Iterator[str | RawMarkup]:
        """A translation in text and markup."""
        for part in text_and_numbers(self._translations[number]):
            yield part if isinstance(part, str) else self._passages.markup(part)

    def _markup(self, raw: RawMarkup) -> str:
        if self._uses_tags and raw.tag is not None:
            return raw.tag
        parts = (
            part
            if isinstance(part, str)
            else self._passages.written(self._passages.inner(part), self._translations)
            for part in raw.parts
        )
        return "".join(parts).replace(" ", KEPT_SPACE).replace("\n", KEPT_BREAK)

    def _escaped(self, text: str, *, starts: bool) -> str:
        if not self._level:
            return text
        if self._level == _MOST_CAUTION:
            return _ALL_SIGNS.sub(r"\\\g<0>", text)
        written, end = [], 0
        for start, stop in protected(text) if self._level == 1 else ():
            if text[start] not in "<&`":
                written += [_SIGNS.sub(r"\\\g<0>", text[end:start]), text[start:stop]]
                end = stop
        text = "".join([*written, _SIGNS.sub(r"\\\g<0>", text[end:])])
        return _FIRST_SIGN.sub(r"\1\\\2", text.lstrip(" ")) if starts else text


def _starts_line(written: Sequence[str]) -> bool:
    before = "".join(written[-1:])
    return not before.strip(" ") or before.endswith(KEPT_BREAK)


def _laid_out(text: str, passage: Passage) -> Iterator[str]:
    """A text in lines as wide as those of its source, and as one line."""
    plain = text.replace(KEPT_SPACE, " ").replace(KEPT_BREAK, "\n")
    if passage.width is not None:
        lines = [
            line
            for part in text.split(KEPT_BREAK)
            for line in _wrapped(part, passage.width - len(passage.prefix))
        ]
        yield "\n".join(lines).replace(KEPT_SPACE, " ")
    yield plain


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width and not _UNBREAKABLE.match(word):
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line
