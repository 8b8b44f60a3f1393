"""From a run of text and tags to a text with marks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import regex
from typing_extensions import override

from dragoman.core.unseen import DIRECTION, with_direction, without_unseen
from dragoman.documents.marks.marked_text import Mark, MarkedText
from dragoman.documents.marks.markup_pieces import MarkupPiece, joined_texts
from dragoman.text.terms.copied_text import protected

_LONGEST_ATOM = 100
"""Characters.  What is longer is no word of a sentence, and would be no help in translating it."""


def mark_pieces(
    pieces: Sequence[MarkupPiece], *, collapses: bool, is_page: bool = False
) -> MarkedText | None:
    """A text to translate, and what is around and between its words.

    Args:
        pieces: text and tags, in the order in which they are written.
        collapses: whether white space of any length is a space, as in HTML.
        is_page: whether no-break spaces beside tags and at the ends are white space, too, and white
            space within tags at the ends stays there.

    Returns:
        None if there is nothing to translate: no letter outside atoms.
    """
    marking = _PageMarking(collapses) if is_page else _Marking(collapses)
    for piece in _paired(joined_texts(pieces)):
        marking.add(piece)
    return marking.finish() if marking.has_words else None


def placeholders(text: str) -> list[Mark]:
    """The parts of a plain text that are copied, such as placeholders and addresses, as atoms."""
    return [
        Mark(text[start:stop], "", start, stop, is_atom=True, is_text=True)
        for start, stop in protected(text)
    ]


_SPACE = "\t\n\f\r "
_SPACES = re.compile(f"([{_SPACE}]+)")
_WIDE_SPACE = re.compile(r"[\t\n\f\r]|  ")
_REFERENCE = re.compile(r"&[\w#]{2,9};")
_NO_BREAK = re.compile(r"&nbsp;|&#160;|&#[xX][aA]0;")
_CLOSING = ",.;:!?)]}…、。，；：！？）」』»”"
_LETTER = regex.compile(r"\p{L}")


def _paired(pieces: Sequence[MarkupPiece]) -> Iterator[MarkupPiece]:
    """The same with pairs of tags that hold no text as points, and so are tags that cross others.

    A ``close`` that is left has its ``open`` in front of it, or none at all before all others.
    """
    paired: list[MarkupPiece] = []
    opened: list[tuple[int, int]] = []  # index in ``found``, and texts before
    texts = 0
    for piece in pieces:
        if piece.kind == "atom":
            piece = _atom(piece)  # noqa: PLW2901
        paired.append(piece)
        if piece.kind == "atom" or (piece.kind == "text" and _has_text(piece.raw)):
            texts += 1
        elif piece.kind == "open":
            opened.append((len(paired) - 1, texts))
        elif piece.kind == "close" and opened:
            if all(paired[index].name != piece.name for index, _ in opened):
                paired[-1] = replace(piece, kind="point")
                continue
            index, before = opened.pop()
            while paired[index].name != piece.name:
                paired[index] = replace(paired[index], kind="point")
                index, before = opened.pop()
            if before == texts:
                raw = "".join(inner.raw for inner in paired[index:])
                is_shown = any(inner.is_shown for inner in paired[index:])
                paired[index:] = [MarkupPiece("point", raw, is_shown=is_shown)]
    yield from paired


def _atom(piece: MarkupPiece) -> MarkupPiece:
    """An atom as it is read; a point if it is empty or too long for a word."""
    piece = replace(piece, content=without_unseen(piece.content))
    return piece if 0 < len(piece.content) <= _LONGEST_ATOM else replace(piece, kind="point")


def _has_text(raw: str) -> bool:
    return not raw.isspace() and bool(html.unescape(raw).strip(_SPACE))


class _Marking:
    """Joins pieces into a marked text."""

    def __init__(self, collapses: bool) -> None:
        self._collapses = collapses
        self._parts: list[str] = []
        self._length = 0
        self._space = ""  # since the last character, as it is written
        self._taken = 0  # characters of that space that a point has in front of it
        self._is_parted = False  # whether marks are within that space
        self._lead = ""
        self._gaps: dict[int, str] = {}
        self._marks: list[Mark] = []
        self._opened: list[Mark] = []
        self._waiting: list[Mark] = []  # marks that start at the next character
        self._point: Mark | None = None  # the point that comes last
        self._no_break = "\u00a0"
        self._references: dict[str, str] = {}
        self.has_words = False

    def add(self, piece: MarkupPiece) -> None:
        if piece.kind == "text":
            self._add_text(piece.raw)
        elif piece.kind == "atom":
            self._add_word(piece.content, piece.raw)
        elif piece.kind == "open":
            self._open(piece.raw)
        elif piece.kind == "close":
            self._close(piece.raw)
        else:
            self._add_point(piece.raw, piece.is_shown)

    def finish(self) -> MarkedText:
        tail = self._space[self._taken :]
        if self._taken and self._point:
            tail = self._point.after + tail
        self._settle()
        for mark in self._opened:
            mark.stop, mark.closes_after = self._length, True
        text = "".join(self._parts)
        return MarkedText(
            text, self._marks, self._lead, tail, self._gaps, self._no_break, self._references
        )

    def _add_text(self, raw: str) -> None:
        if found := _NO_BREAK.search(raw):
            self._no_break = found[0]
        for written in _REFERENCE.findall(raw):
            if DIRECTION.fullmatch(character := html.unescape(written)):
                self._references[character] = written
        text, place = html.unescape(raw), 0
        for span in protected(text):
            start, stop = with_direction(text, span)
            start = max(start, place)
            self._add_words(text[place:start])
            if _WIDE_SPACE.search(text, start, stop):
                self._add_words(text[start:stop])  # it is written with another space than read
            else:
                word = without_unseen(text[slice(*span)])
                self._add_word(word, text[start:stop], is_text=True)
            place = stop
        self._add_words(text[place:])

    def _add_words(self, text: str) -> None:
        for index, part in enumerate(_SPACES.split(text)):
            if index % 2:
                self._add_space(part)
            else:
                self._add_word(part)

    def _add_space(self, space: str) -> None:
        if self._point is not None and not self._point.after:
            self._point.after = space
            if self._space or not self._length:
                return  # a single space in the text is enough, and the point keeps the other
        if self._length:
            self._space += space
        else:
            self._lead += space

    def _add_word(self, word: str, atom: str = "", *, is_text: bool = False) -> None:
        if not word:
            return
        if self._follows_point(word):
            self._space = ""  # as in "Hello <x/>, you": the text is "Hello, you"
            for point in self._waiting:
                point.start = point.stop = self._length
            self._waiting.clear()
        elif self._space:
            if self._collapses:
                if self._space != " " and (not self._is_parted or self._no_break in self._space):
                    self._gaps[self._length] = self._space
                self._space = " "
            self._append(self._space)
        self._space, self._taken, self._is_parted, self._point = "", 0, False, None
        self._settle()
        if atom:
            end = self._length + len(word)
            mark = Mark(atom, "", self._length, end, is_atom=True, is_text=is_text)
            self._siblings().append(mark)
        else:
            self.has_words = self.has_words or _LETTER.search(word) is not None
        self._append(word)

    def _follows_point(self, word: str) -> bool:
        """Whether a sign closes up to a point that has white space in front."""
        return (
            self._point is not None and bool(self._point.before) and word[0] in _CLOSING
        ) and not self._point.after

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def _settle(self) -> None:
        for mark in self._waiting:
            mark.start = mark.stop = self._length
        self._waiting.clear()

    def _siblings(self) -> list[Mark]:
        return self._opened[-1].children if self._opened else self._marks

    def _open(self, raw: str) -> None:
        mark = Mark(raw, "", self._length, self._length)
        self._siblings().append(mark)
        self._opened.append(mark)
        self._waiting.append(mark)
        self._part()

    def _close(self, raw: str) -> None:
        if self._opened:
            mark = self._opened.pop()
            mark.end = raw
        else:
            mark = Mark("", raw, 0, 0, self._marks, opens_before=True)
            self._marks = [mark]
        mark.stop = self._length
        self._part()

    def _add_point(self, raw: str, is_shown: bool) -> None:
        before = self._space if is_shown else ""
        self._taken = max(self._taken, len(before))
        mark = Mark(raw, "", self._length, self._length, is_point=True, before=before)
        self._siblings().append(mark)
        if self._space:
            self._waiting.append(mark)
        self._part()
        self._point = mark if is_shown else None

    def _part(self) -> None:
        self._point = None
        self._is_parted = self._is_parted or bool(self._space)


_SPACES_AND_WORDS = re.compile(
    f"(?P<lead>[{_SPACE}\u00a0]*)(?P<words>.*?)(?P<tail>[{_SPACE}\u00a0]*)", re.DOTALL
)


class _PageMarking(_Marking):
    """Joins pieces of a page, whose white space is written where it was.

    White space within tags is written with the tags if there is other white space on their other
    side, which is shown instead.
    """

    def __init__(self, collapses: bool) -> None:
        super().__init__(collapses)
        self._begun: Mark | None = None  # a start tag that comes last
        self._lone: Mark | None = None  # an end tag that comes last, in front of all words
        self._closed: list[tuple[Mark, int, int]] = []  # since the last word; spaces in front
        self._counted = 0  # characters of ``_space`` that are in front of these

    @override
    def finish(self) -> MarkedText:
        self._close_behind_spaces(is_end=True)
        return super().finish()

    def _add_text(self, raw: str) -> None:
        text = html.unescape(raw)
        if "\u00a0" not in text:
            super()._add_text(raw)
            return
        if found := _NO_BREAK.search(raw):
            self._no_break = found[0]
        parts = _SPACES_AND_WORDS.fullmatch(text)
        assert parts is not None
        self._add_space(parts["lead"].replace("\u00a0", self._no_break))
        super()._add_text(html.escape(parts["words"], quote=False))
        self._add_space(parts["tail"].replace("\u00a0", self._no_break))

    def _add_space(self, space: str) -> None:
        if not space:
            return
        if self._begun is not None and (self._space or not self._length):
            self._begun.begin += space
        elif self._lone is not None and not self._length:
            self._lone.end += space
        else:
            super()._add_space(space)

    def _add_word(self, word: str, atom: str = "", *, is_text: bool = False) -> None:
        if word:
            self._close_behind_spaces(is_end=False)
            self._begun = self._lone = None
        super()._add_word(word, atom, is_text=is_text)

    def _close_behind_spaces(self, *, is_end: bool) -> None:
        """Write white space with end tags that have other behind them, or the end of the text."""
        end, kept, has_other = len(self._space), "", is_end
        for mark, start, stop in reversed(self._closed):
            kept = self._space[stop:end] + kept
            has_other, end = has_other or bool(kept), stop
            if has_other and start >= self._taken:
                mark.end, end = self._space[start:stop] + mark.end, start
        self._space = self._space[:end] + kept
        self._closed.clear()
        self._counted = 0

    def _open(self, raw: str) -> None:
        super()._open(raw)
        self._begun, self._lone = self._opened[-1], None

    def _close(self, raw: str) -> None:
        is_lone, opened = not self._opened, self._opened[-1:]
        if self._point is not None and self._point.before:  # the text has that space only
            raw, self._point.after = self._point.after + raw, ""
        super()._close(raw)
        mark = self._marks[0] if is_lone else opened[0]
        self._closed.append((mark, self._counted, len(self._space)))
        self._counted = len(self._space)
        self._begun, self._lone = None, mark if is_lone else None

    def _add_point(self, raw: str, is_shown: bool) -> None:
        if not self._taken:
            self._close_behind_spaces(is_end=False)
        super()._add_point(raw, is_shown)
        self._begun = self._lone = None
