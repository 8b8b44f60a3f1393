"""Passages of Markdown, read as texts with marks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from dragoman.documents.html import BLOCKS, NO_PROSE
from dragoman.documents.markdown.markdown_dialects import ATTRIBUTES
from dragoman.documents.markdown.markdown_inline import (
    EMPHASIS,
    InlinePiece,
    inline_pieces,
    text_shape,
)
from dragoman.documents.markdown.markdown_writing import (
    Passage,
    RawMarkup,
    Segment,
    Setting,
    WrittenPassages,
)
from dragoman.documents.markdown.mdx import EXPRESSION, has_content, jsx_kind
from dragoman.documents.marks.marked_text import KEPT_BREAK, NumberedText, as_number, number_of
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece, joined_texts
from dragoman.documents.marks.markup_tokens import html_tokens


class MarkdownPassages(WrittenPassages):
    """Passages of a document, which are read one by one."""

    def read(self, content: str) -> list[Segment]:
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

    def _add_inner(self, content: str, setting: Setting) -> int | None:
        """The number of a passage within markup, or None if there is nothing to translate."""
        segments = self.read(content)
        if not any(isinstance(segment, int) for segment in segments):
            return None
        self.inner.append(Passage(content, segments, setting))
        return len(self.inner) - 1

    def _text(self, pieces: Sequence[MarkupPiece]) -> Iterator[Segment]:
        """The segments of some pieces: a text, or what has no words."""
        marked = mark_pieces(pieces, collapses=True) if pieces else None
        if marked is not None and not marked.is_crowded:
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
            return self.markup[number]
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
                last = self.markup[-1]
                tag = None if last.tag is None else last.tag + piece.raw
                parts, shape = (*last.parts, piece.raw), last.shape + piece.shape
                self.markup[-1] = RawMarkup(parts, shape, tag)
            elif piece.kind == EXPRESSION and not has_content(piece.raw):
                yield self._mark("point", RawMarkup((piece.raw,), piece.shape))
            elif piece.kind in {"code_inline", "autolink", ATTRIBUTES, EXPRESSION}:
                yield self._mark("atom", RawMarkup((piece.raw,), piece.shape), piece.text)
            elif piece.kind == "html_inline":
                kind, name = self._tag(piece.raw)
                hidden = self._hidden_end(pieces, at, name) if kind == "open" else 0
                if hidden:
                    whole = pieces[at - 1 : hidden]
                    written = "".join(inner.raw for inner in whole)
                    shape = "".join(inner.shape for inner in whole)
                    content = "".join(inner.text for inner in whole[1:-1])
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
        """End of an element that is not translated, or 0 if it is translated, or does not end."""
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
        self.markup.append(raw)
        return MarkupPiece(kind, as_number(len(self.markup) - 1), name, content)

    def _pair(self, piece: InlinePiece, name: str, end: str, label: str) -> RawMarkup:
        if name in EMPHASIS:
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
        return " ".join("".join(piece.raw for piece in pieces[at + 1 : close]).split())

    def _image(self, piece: InlinePiece) -> RawMarkup:
        """An image, whose description and title are texts."""
        if piece.label is None:
            return RawMarkup((piece.raw,), piece.shape)
        start, end = piece.label
        label, rest = piece.raw[start:end], piece.raw[end:]
        number = self._add_inner(label, "label")
        if rest in {"]", "][]"}:
            rest = f"][{' '.join(label.split())}]"
        described = label if number is None else number
        return RawMarkup((piece.raw[:start], described, *self._with_title(rest)), piece.shape)

    def _with_title(self, raw: str) -> Iterator[str | int]:
        """The end of a link or image, with its title as a text."""
        found = _TITLE.fullmatch(raw)
        number = None if found is None else self._add_inner(found["title"], "title")
        if found is None or number is None:
            yield raw
        else:
            yield from (found["before"], number, found["behind"])


_TITLE = re.compile(
    r"(?P<before>\]\(\s*(?:<[^<>\n]*>|[^\s<>]+)\s+\")(?P<title>[^\"\\&<`*_~\[\]]+)(?P<behind>\"\s*\))"
)
"""With a title in which nothing is markup: links that have another keep it."""


def _takes_attributes(piece: InlinePiece) -> bool:
    """Whether attributes directly behind a piece are of it."""
    return piece.kind in {"code_inline", "image"} or piece.kind.endswith("_close")
