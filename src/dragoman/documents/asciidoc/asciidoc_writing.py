"""Texts of AsciiDoc, read with marks and written again, so that no word becomes markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from dragoman.documents.asciidoc.asciidoc_blocks import Region
from dragoman.documents.asciidoc.asciidoc_inline import (
    EMPTY_ATTRIBUTE,
    AsciidocPiece,
    inline_pieces,
    marked_shape,
    meaning,
    plain_text,
)
from dragoman.documents.asciidoc.asciidoc_lines import guarded
from dragoman.documents.document_format import EMPTY
from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.marked_text import (
    MarkedText,
    NumberedText,
    as_number,
    text_and_numbers,
)
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece, joined_texts
from dragoman.text.terms.copied_text import protected

CHANGED = "its translation would change the markup"
"""Why a text stays as it is."""

_SIGNS = re.compile(r"[\\`*_#+^~{}\[\]<>&$=]|\((?=\()")
_ALL_SIGNS = re.compile(r"[!-/:-@\[-`{-~]")
_CAUTION = ((0, False), (0, True), (1, False), (1, True), (2, True), (3, True))
"""Ways to write a text, tried until its meaning is right: how many signs are written as references
to characters (none, those of markup outside what programs read, all outside the placeholders of the
source, all), and whether signs of emphasis are
doubled, so that they may be beside letters."""
Escape = Callable[[str, Collection[str]], str]
"""Writes text, in which some parts are of the source."""
_SPACES = re.compile(r"\s+")


class Segment(NamedTuple):
    """Markup, with a text within it if it is a footnote."""

    piece: AsciidocPiece
    inner: tuple[Segment | int, ...] = ()


class AsciidocPassage(NamedTuple):
    """A text of the document: raw markup between texts, which are numbers."""

    region: Region
    source: str
    segments: tuple[Segment | int, ...]


class AsciidocPassages:
    """The texts of a document.  ``refused`` has those that the last writing left, and why."""

    def __init__(self) -> None:
        self.texts: list[MarkedText] = []
        self.refused: dict[str, str] = {}
        self._markup: list[Segment] = []
        self._kept: list[Collection[str]] = []  # before marks are placed, which changes them

    def read(self, content: str) -> tuple[Segment | int, ...]:
        """The segments of a text."""
        segments: list[Segment | int] = []
        pieces: list[MarkupPiece] = []
        for piece in inline_pieces(content):
            if piece.kind == "hardbreak":
                segments += [*self._marked(pieces), Segment(piece)]
                pieces = []
            elif piece.kind == "text":
                pieces.append(MarkupPiece("text", plain_text(piece.raw), piece.raw))
            elif piece.kind == "footnote":
                pieces.append(self._mark("point", Segment(piece, self.read(piece.content))))
            else:
                pieces.append(self._mark(piece.kind, Segment(piece)))
        return (*segments, *self._marked(pieces))

    def _mark(
        self, kind: Literal["open", "close", "point", "atom"], segment: Segment
    ) -> MarkupPiece:
        self._markup.append(segment)
        piece = segment.piece
        content = piece.content if kind == "atom" else ""
        return MarkupPiece(kind, as_number(len(self._markup) - 1), piece.name, content)

    def _marked(self, pieces: Sequence[MarkupPiece]) -> Iterator[Segment | int]:
        marked = mark_pieces(pieces, collapses=True) if pieces else None
        if marked is not None and not marked.is_crowded:
            self.texts.append(NumberedText(**vars(marked)))
            self._kept.append(marked.kept)
            yield len(self.texts) - 1
        elif marked is not None and len(joined := joined_texts(pieces)) > 1:
            for piece in joined:
                yield from self._marked([piece])
        else:
            for piece in pieces:
                for part in text_and_numbers(piece.raw if piece.kind != "text" else ""):
                    yield self._markup[int(part)]
                if piece.kind == "text":
                    yield Segment(AsciidocPiece("text", piece.name))

    def numbers(self, segments: Sequence[Segment | int]) -> Iterator[int]:
        """The texts of segments, and those of their footnotes."""
        for segment in segments:
            if isinstance(segment, Segment):
                yield from self.numbers(segment.inner)
                continue
            yield segment
            written = unchanged(self.texts[segment])
            for part in text_and_numbers(written):
                if isinstance(part, int):
                    yield from self.numbers(self._markup[part].inner)

    def written(self, passage: AsciidocPassage, translations: Sequence[str]) -> str:
        """A text with its translations; as it was if they cannot be written."""
        numbers = list(self.numbers(passage.segments))
        if all(translations[at] == unchanged(self.texts[at]) for at in numbers):
            return passage.source
        empty = [at for at in numbers if self._is_empty(at, translations[at])]
        if empty:
            self._refuse(empty, EMPTY)
            return passage.source
        for level, doubles in _CAUTION:
            parts = list(self._parts(passage.segments, translations, _escaping(level), doubles))
            raw = "".join(part for part, _ in parts)
            wanted = _SPACES.sub(" ", "".join(shape for _, shape in parts)).strip()
            if meaning(inline_pieces(raw)) == wanted:
                return _laid_out(raw.strip(" \t"), passage)
        self._refuse(numbers, CHANGED)
        return passage.source

    def _is_empty(self, number: int, translation: str) -> bool:
        parts = text_and_numbers(translation)
        words = "".join(part for part in parts if isinstance(part, str))
        return not words.strip() and not self.texts[number].kept

    def _refuse(self, numbers: Sequence[int], reason: str) -> None:
        self.refused.update((self.texts[number].text, reason) for number in numbers)

    def _parts(
        self,
        segments: Sequence[Segment | int],
        translations: Sequence[str],
        escape: Escape,
        doubles: bool,
    ) -> Iterator[tuple[str, str]]:
        """Parts of a text as they are written, and what each means."""
        for segment in segments:
            if isinstance(segment, int):
                for part in text_and_numbers(translations[segment]):
                    if isinstance(part, str):
                        yield escape(part, self._kept[segment]), part
                    else:
                        inner = (self._markup[part],)
                        yield from self._parts(inner, translations, escape, doubles)
                continue
            piece = segment.piece
            if piece.kind == "text":
                yield piece.raw, meaning_of_text(piece.raw)
            elif segment.inner:
                parts = list(self._parts(segment.inner, translations, escape, doubles))
                said = _SPACES.sub(" ", "".join(shape for _, shape in parts)).strip()
                raw = "".join(part for part, _ in parts)
                yield f"{piece.raw}{raw}]", marked_shape(f"{piece.raw}{said}]")
            else:
                yield (
                    piece.double if doubles and piece.double else piece.raw,
                    marked_shape(piece.shape),
                )


def meaning_of_text(raw: str) -> str:
    """The meaning of text without markup."""
    return meaning(iter([AsciidocPiece("text", f"\x03{raw}\x03")])).strip("\x03")


def _escaping(level: int) -> Escape:
    return (_plain, _careful, _more_careful, _most_careful)[level]


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


def _plain(text: str, kept: Collection[str]) -> str:
    return text


def _careful(text: str, kept: Collection[str]) -> str:
    return _outside(text, _SIGNS, protected(text))


def _more_careful(text: str, kept: Collection[str]) -> str:
    if not kept:
        return _ALL_SIGNS.sub(_reference, text)
    alternatives = "|".join(map(re.escape, sorted(kept, key=len, reverse=True)))
    spans = [found.span() for found in re.finditer(alternatives, text)]
    return _outside(text, _ALL_SIGNS, spans)


def _most_careful(text: str, kept: Collection[str]) -> str:
    return _ALL_SIGNS.sub(_reference, text)


def _outside(text: str, signs: re.Pattern[str], spans: Iterable[tuple[int, int]]) -> str:
    """A text with signs as references, but for some spans."""
    written, end = [], 0
    for start, stop in spans:
        written += [signs.sub(_reference, text[end:start]), text[start:stop]]
        end = stop
    return "".join([*written, signs.sub(_reference, text[end:])])


def _laid_out(raw: str, passage: AsciidocPassage) -> str:
    """A text in its place, in which no line begins a block."""
    region = passage.region
    if region.setting in {"title", "caption"}:
        text = " ".join(raw.split())
        if region.underline:
            newline = re.search(r"\r\n?|\n", passage.source)
            assert newline is not None
            text = guarded(text, EMPTY_ATTRIBUTE, is_first=False)
            return text + newline[0] + region.underline * max(len(text), 2)
        return EMPTY_ATTRIBUTE + text if text.startswith(".") else text
    lines = re.split(r"(\r\n?|\n)", raw)
    return "".join(
        part
        if at % 2
        else guarded(part, EMPTY_ATTRIBUTE, is_first=not at and region.setting != "paragraph")
        for at, part in enumerate(lines)
    )
