"""Marks of a text, put around and between the words of its translation.

A model that has learned inline tags says itself where they belong
(:mod:`dragoman.documents.marks.learned_places`).  Otherwise a tag goes to the words that translate
those that it was around (:mod:`dragoman.documents.marks.linked_places`): by the links of the
service or, without links, by words that are the same on both sides and proportion between these.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from dragoman.documents.marks.copied_parts import TakenRanges, surplus
from dragoman.documents.marks.correspondence import (
    NOTHING,
    Correspondence,
    SentencePair,
    TargetUnit,
    linked_sentences,
)
from dragoman.documents.marks.learned_places import learned_places
from dragoman.documents.marks.linked_places import LinkedPlaces
from dragoman.documents.marks.marked_text import Mark, MarkedText, PageText, Range, walk
from dragoman.text.terms.copied_text import strays
from dragoman.translation.service.translated_text import TranslatedText

_MOST_WORK = 1_000_000
"""Comparisons for a text, which take about a second.  Texts that need more, with hundreds of marks
in a sentence, stay as they are."""


def place_marks(
    marked: MarkedText, translated: TranslatedText, escape: Callable[[str], str] | None = None
) -> str:
    """The translation of a text with its marks, as it is written.  Links make it better.

    ``escape`` writes text, by default as in markup.
    """
    if isinstance(marked, PageText) and translated.text == marked.text:
        return marked.raw
    escape = escape or marked.escape
    if translated.text == marked.text:
        return unchanged(marked, escape)
    if not marked.marks and not marked.gaps and not strays(translated.text, ()):
        return marked.lead + escape(translated.text) + marked.tail
    atoms = [mark for mark in walk(marked.marks) if mark.is_atom]
    if (learned := _learned(marked, translated, atoms, escape)) is not None:
        return _written(marked, learned)
    others = (mark for mark in walk(marked.marks) if not mark.is_atom)
    edges = (edge for mark in others for edge in (mark.start, mark.stop))
    found = Correspondence(marked.text, translated, atoms, edges)
    if _work(marked, found) > _MOST_WORK:
        return unchanged(marked, escape)
    placement = LinkedPlaces(marked, found)
    for atom in found.lost:
        if not placement.put_atom(atom):
            _make_point(atom, marked.text)
    placement.place(marked.marks)
    gaps = written_gaps(marked, found.sentences, found.target) | _no_breaks(marked, found)
    return _written(marked, MarkWriting(found.target, found.units, gaps, placement.places, escape))


def unchanged(marked: MarkedText, escape: Callable[[str], str] | None = None) -> str:
    """A text as it was, with its marks.  See :func:`place_marks`."""
    if isinstance(marked, PageText):
        return marked.raw
    atoms, others = [], {}
    for mark in walk(marked.marks):
        if mark.is_atom:
            atoms.append(TargetUnit(mark.start, mark.stop, 0, True, atom=mark))
        else:
            others[id(mark)] = mark.start, mark.stop
    writing = MarkWriting(marked.text, atoms, marked.gaps, others, escape or marked.escape)
    return _written(marked, writing)


def _learned(
    marked: MarkedText,
    translated: TranslatedText,
    atoms: Sequence[Mark],
    escape: Callable[[str], str],
) -> MarkWriting | None:
    """The marks where the model says that they are, or None if it does not say so."""
    places, target = learned_places(marked, translated), translated.text
    if places is None:
        return None
    taken = [places.pop(id(atom)) for atom in atoms]
    units = [
        TargetUnit(*place, 0, True, atom=atom) for place, atom in zip(taken, atoms, strict=True)
    ]
    edges = sorted(edge for place in places.values() for edge in place)
    for start, stop in surplus(marked.text, target, atoms, TakenRanges(taken)):
        inside = bisect_right(edges, start)
        if inside < len(edges) and edges[inside] < stop:
            return None
        units.append(TargetUnit(start, stop, 0, True, atom=NOTHING))
    gaps = written_gaps(marked, linked_sentences(marked.text, translated), target)
    return MarkWriting(target, units, gaps, places, escape)


def _no_breaks(marked: MarkedText, found: Correspondence) -> dict[int, str]:
    """No-break spaces between words that are neighbours in the translation, too, by place there."""
    spaces = {at: raw for at, raw in marked.gaps.items() if marked.no_break in raw}
    if not spaces:
        return {}
    around = [
        {at for a, b in unit.sources for at in (a - 1, b) if at in spaces} for unit in found.units
    ]
    for unit, beside in zip(found.units, around, strict=True):
        if not unit.is_word:
            sign = found.target[unit.start]
            beside.update(at for at in spaces if sign in marked.text[at - 1 : at + 2 : 2])
    return {
        one.end: spaces[min(both)]
        for (one, some), (other, others) in pairwise(zip(found.units, around, strict=True))
        if (both := some & others) and found.target[one.end : other.start] == " "
    }


def _work(marked: MarkedText, found: Correspondence) -> int:
    """How many comparisons it takes to choose places for the marks of a text."""
    marks = list(walk(marked.marks))
    units = (len(found.units_of(found.sentence_at(mark.start))) for mark in marks)
    return len(marks) ** 2 + sum(units)


def _written(marked: MarkedText, writing: MarkWriting) -> str:
    writing.write(marked.marks, 0, len(writing.target))
    return marked.lead + "".join(writing.written) + marked.tail


def _make_point(atom: Mark, text: str) -> None:
    """An atom that has no place among the words, between them."""
    atom.is_atom, atom.is_point = False, True
    atom.before = " " if atom.start and text[atom.start - 1].isspace() else ""
    atom.after = " " if text[atom.stop : atom.stop + 1].isspace() else ""


class MarkWriting:
    """Writes a translation with its marks."""

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
