"""A translation written with its marks, whose places are known."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from dragoman.documents.marks.correspondence import SentencePair, TargetUnit
from dragoman.documents.marks.marked_text import Mark, MarkedText, Range


class MarkWriting:
    """Writes a translation with its marks.

    Attributes:
        written: what is written so far, in parts.
    """

    def __init__(
        self,
        target: str,
        units: Sequence[TargetUnit],
        gaps: dict[int, str],
        places: dict[int, Range],
        escape: Callable[[str], str],
    ) -> None:
        self.target, self._places, self._escape, self._gaps = target, places, escape, gaps
        self._atoms = sorted(
            (unit for unit in units if unit.atom is not None), key=lambda unit: unit.start
        )
        self._atom_starts = [unit.start for unit in self._atoms]
        self._gap_places = sorted(gaps)
        self._pending = ""  # white space behind a point, needed if text or a point follows
        self._is_apart = True  # whether white space or nothing comes last, but for tags
        self.written: list[str] = []

    def write(self, marks: Sequence[Mark], start: int, end: int) -> None:
        """Write a part of the translation and the marks in it, which it contains wholly."""
        # No recursion, as a text may be marked a thousand times over.
        opened = [(self._in_order(marks), end, "")]
        while opened:
            left, end, closing = opened[-1]
            if (mark := next(left, None)) is None:
                self._write_text(start, end)
                self._write_space_once(closing)
                start = end
                opened.pop()
                continue
            first, last = self._places[id(mark)]
            self._write_text(start, first)
            start = first
            if mark.is_point:
                self._write_point(mark)
                start = last
            else:
                if self._pending and not self.target[first : first + 1].isspace():
                    self._write_pending()
                self._add(mark.begin)
                opened.append((self._in_order(mark.children), last, mark.end))

    def _in_order(self, marks: Sequence[Mark]) -> Iterator[Mark]:
        """Those that are shown, by their places."""
        shown = [mark for mark in marks if id(mark) in self._places]
        return iter(sorted(shown, key=lambda one: self._places[id(one)]))

    def _write_point(self, mark: Mark) -> None:
        self._write_space_once(self._pending or ("" if self._is_apart else mark.before))
        self._add(self._begin(mark))
        self._is_apart = self._is_apart or bool(self._pending or mark.before)
        self._pending = mark.after

    def _write_space_once(self, raw: str) -> None:
        """Write markup, without the white space in front of it if there is some already."""
        ends_apart = bool(self.written) and self.written[-1][-1].isspace()
        self._add(raw.lstrip() if ends_apart else raw)

    def _add(self, raw: str) -> None:
        if raw:
            self.written.append(raw)

    def _write_pending(self) -> None:
        self._write_space_once(self._pending)
        self._pending, self._is_apart = "", True

    def _begin(self, mark: Mark) -> str:
        return self._escape(mark.begin) if mark.is_text else mark.begin

    def _write_text(self, start: int, end: int) -> None:
        if start >= end:
            return
        if self._pending and not self.target[start].isspace():
            self._write_pending()
        self._pending = ""
        self._is_apart = self.target[end - 1].isspace()
        here = (bisect_left(self._atom_starts, place) for place in (start, end))
        for unit in self._atoms[slice(*here)]:
            assert unit.atom is not None
            self._write_plain(start, unit.start)
            self._add(self._begin(unit.atom))
            start = unit.end
        self._write_plain(start, end)

    def _write_plain(self, start: int, end: int) -> None:
        here = (bisect_left(self._gap_places, place) for place in (start, end))
        for place in self._gap_places[slice(*here)]:
            self._add(self._escape(self.target[start:place]))
            self._add(self._gaps[place])
            start = place + 1
        if start < end:
            self._add(self._escape(self.target[start:end]))


def written_gaps(
    marked: MarkedText, sentences: Sequence[SentencePair], target: str
) -> dict[int, str]:
    """White space between sentences as the source has it, by place in the translation."""
    gaps = {}
    for one, following in pairwise(sentences):
        at, place = one.source[1], one.target[1]
        if at in marked.gaps and target[place : following.target[0]] == " ":
            gaps[place] = marked.gaps[at]
    return gaps
