"""Texts of Markdown: read into marks, and checked when they are written."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from markdown_it import MarkdownIt

from dragoman.documents.html import BLOCKS, NO_PROSE
from dragoman.documents.markdown.markdown_dialects import ATTRIBUTES
from dragoman.documents.markdown.markdown_inline import (
    Environment,
    InlinePiece,
    inline_pieces,
    shape_of,
    shaped,
    text_shape,
)
from dragoman.documents.markdown.markdown_writing import (
    CAUTION,
    Passage,
    PassageWriting,
    RawMarkup,
    Segment,
    Setting,
    laid_out,
)
from dragoman.documents.markdown.mdx import EXPRESSION, has_content, jsx_kind
from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.marked_text import (
    KEPT_BREAK,
    MarkedText,
    NumberedText,
    as_number,
    number_of,
    text_and_numbers,
    walk,
)
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece, joined_texts
from dragoman.documents.marks.markup_tokens import html_tokens

EMPTY = "its translation is empty"
CHANGED = "its translation would change the markup"
"""Why a text stays as it is."""
_MOST_MARKS = 100
"""In a text.  Placing marks takes time that grows with their number."""
_TAGS = {"em": "em", "strong": "strong", "s": "del"}


@dataclass
class MarkdownPassages:
    """Reads and writes the passages of a document.

    Attributes:
        texts: of all passages, in order; passages refer to them by number.
        refused: texts that the last writing left as they are, and why.
    """

    parser: MarkdownIt
    environment: Environment
    is_mdx: bool = False
    texts: list[MarkedText] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
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
        """A passage with its texts replaced; unchanged if there is no safe way to write them."""
        if not self.are_written_again(list(self._numbers(passage)), translations):
            return passage.source
        for level, uses_tags in CAUTION:
            writing = PassageWriting(self, translations, level, uses_tags, passage.setting)
            text, meaning = writing.write(passage.segments)
            for lines in laid_out(text, passage):
                if self._means(lines, passage.setting, meaning):
                    return lines.replace("\n", passage.newline + passage.prefix)
        self._refuse(self._numbers(passage), CHANGED)
        return passage.source

    def are_written_again(self, numbers: Sequence[int], translations: Sequence[str]) -> bool:
        """Whether texts that belong together have translations, some of which differ from them.

        Args:
            numbers: of the texts.
            translations: of all texts.
        """
        if all(translations[at] == unchanged(self.texts[at]) for at in numbers):
            return False
        empty = [at for at in numbers if self._is_empty(at, translations[at])]
        self._refuse(empty, EMPTY)
        return not empty

    def _is_empty(self, number: int, translation: str) -> bool:
        """Whether a translation has no words, and nothing that is copied."""
        parts = text_and_numbers(translation)
        words = "".join(part for part in parts if isinstance(part, str))
        return not words.strip() and not self.texts[number].kept

    def _refuse(self, numbers: Iterable[int], reason: str) -> None:
        self.refused.update((self.texts[number].text, reason) for number in numbers)

    def _numbers(self, passage: Passage) -> Iterator[int]:
        """The texts of a passage, and of those within its markup."""
        for segment in passage.segments:
            if isinstance(segment, int):
                yield segment
                marks = walk(self.texts[segment].marks)
                raws = (raw for mark in marks for raw in (mark.begin, mark.end))
                found = (one for raw in raws for one in text_and_numbers(raw))
                parts = [self._markup[one] for one in found if isinstance(one, int)]
            else:
                parts = [segment]
            for part in parts:
                for one in part.parts:
                    if isinstance(one, int):
                        yield from self._numbers(self._inner[one])

    def markup(self, number: int) -> RawMarkup:
        """The markup that a number in a text stands for."""
        return self._markup[number]

    def trimmed(self, number: int, translation: str) -> str:
        """The translation of a text with the white space at its ends that the text has."""
        text = self.texts[number]
        return text.lead + translation.strip(" ") + text.tail if translation.strip() else ""

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
                yield MarkupPiece("text", " ", KEPT_BREAK)
            elif piece.kind == "hardbreak":
                yield RawMarkup((piece.raw[: piece.raw.index("\n")] + KEPT_BREAK,), piece.shape)
            elif piece.kind == ATTRIBUTES and at > 1 and _takes_attributes(pieces[at - 2]):
                last = self._markup[-1]
                tag = None if last.tag is None else last.tag + piece.raw
                parts, shape = (*last.parts, piece.raw), last.shape + piece.shape
                self._markup[-1] = RawMarkup(parts, shape, tag)
            elif piece.kind == EXPRESSION and not has_content(piece.raw):
                yield self._mark("point", RawMarkup((piece.raw,), piece.shape))
            elif piece.kind in {"code_inline", "autolink", ATTRIBUTES, EXPRESSION}:
                yield self._mark("atom", RawMarkup((piece.raw,), piece.shape), piece.text)
            elif piece.kind == "html_inline":
                kind, name = self._tag(piece.raw)
                hidden = self._hidden_end(pieces, at, name) if kind == "open" else 0
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

    def _tag(self, raw: str) -> tuple[Literal["open", "close", "point"], str]:
        """Whether a tag begins or ends an element, and its name."""
        if self.is_mdx:
            return jsx_kind(raw)
        (token, *_) = html_tokens(raw)
        return token.kind if token.kind in ("open", "close") else "point", token.name

    def _hidden_end(self, pieces: Sequence[InlinePiece], at: int, name: str) -> int:
        """End of an element that is not translated; 0 if it is translated, or does not end."""
        if name not in NO_PROSE:
            return 0
        for index in range(at, len(pieces)):
            piece = pieces[index]
            if piece.kind == "html_inline" and self._tag(piece.raw) == ("close", name):
                return index + 1
            if piece.kind == "hardbreak":
                return 0
        return 0

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
        """The content between the brackets of a link."""
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
    "bare": ("a|b\n-|-\n", "|z", "table"),
    "label": ("![", "](x)", "paragraph"),
    "title": ('[x](y "', '")', "paragraph"),
}


def _takes_attributes(piece: InlinePiece) -> bool:
    """Whether attributes directly behind a piece are of it."""
    return piece.kind in {"code_inline", "image"} or piece.kind.endswith("_close")
