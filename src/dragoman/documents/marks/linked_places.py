"""Places of marks in a translation, by the links between its words and those of the source.

A pair of tags gets the run of words whose sum is highest: a word counts 1 if it translates only
words inside and -1 if it translates none of them, so that one wrong link costs little.  Tags stay
nested, and each is placed exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import regex

from dragoman.documents.marks.correspondence import Correspondence, TargetUnit
from dragoman.documents.marks.marked_text import Mark, MarkedText, Range, walk
from dragoman.documents.marks.parted_words import PART, is_word

# At the ends of a text, up to its first and last word.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]")
_SIGNS_BEFORE = regex.compile(r"^[^\p{L}\p{M}\p{N}]+")
_SIGNS_BEHIND = regex.compile(r"(?<![^\p{L}\p{M}\p{N}])[^\p{L}\p{M}\p{N}]+$")
_SPACED_BEHIND, _SPACED_BEFORE = "«‹", "»›!?;:"
_CERTAIN = 1e6
"""More than any sum."""


class LinkedPlaces:
    """Chooses places of marks in a translation: start and end in characters, by their ``id``."""

    def __init__(self, marked: MarkedText, found: Correspondence) -> None:
        self._text, self._found, self._units = marked.text, found, found.units
        self._copied = {
            edge for mark in walk(marked.marks) if mark.is_atom for edge in (mark.start, mark.stop)
        }
        self.places: dict[int, Range] = {}

    def put_atom(self, atom: Mark) -> bool:
        """Put an atom in place of the words that translate it, if links say which they are."""
        sentence = self._found.sentence_at(atom.start)
        within = self._found.units_of(sentence)
        if not self._found.sentences[sentence].is_linked:
            return False
        score, (start, end) = self._best(atom, (within.start, within.stop))
        units = self._units[start:end]
        if score <= 0 or any(unit.atom or self._says_more(unit, atom) for unit in units):
            return False
        self._found.put_atom(start, end, atom)
        return True

    def _says_more(self, unit: TargetUnit, atom: Mark) -> bool:
        """Whether a unit translates an atom and words that are written next to it, all as one."""
        return any(
            _WORD.search(self._text, start, atom.start) or _WORD.search(self._text, atom.stop, end)
            for start, end in unit.sources
            if start < atom.stop and atom.start < end
        )

    def place(self, marks: Sequence[Mark]) -> None:
        """Choose places for marks and all those in them."""
        waiting = [(marks, (0, len(self._text)), (0, len(self._units)))]
        while waiting:
            marks, source, within = waiting.pop()
            chosen = self._choose(marks, source, within)
            for mark in marks:
                if id(mark) in chosen:
                    self._settle(mark, chosen[id(mark)])
                    waiting.append((mark.children, (mark.start, mark.stop), chosen[id(mark)]))
                elif mark.is_point:
                    self._settle_point(mark, source, within, list(chosen.values()))

    def _choose(self, marks: Sequence[Mark], source: Range, within: Range) -> dict[int, Range]:
        """Ranges of units for the pairs among siblings, none of which overlap."""
        pairs = [mark for mark in marks if not mark.is_point and not mark.is_atom]
        best = {id(mark): self._best(mark, within) for mark in pairs}

        def urgency(mark: Mark) -> tuple[bool, bool, float]:
            is_pinned = mark.opens_before or mark.closes_after
            return (mark.start, mark.stop) != source, not is_pinned, -best[id(mark)][0]

        chosen: dict[int, Range] = {}
        for mark in sorted(pairs, key=urgency):
            taken = sorted(chosen.values())
            if (mark.start, mark.stop) == source and not taken:
                chosen[id(mark)] = within
            elif mark.opens_before or mark.closes_after:
                chosen[id(mark)] = self._pinned(mark, within, taken)
            else:
                chosen[id(mark)] = self._free(mark, within, taken)
        return chosen

    def _free(self, mark: Mark, within: Range, taken: Sequence[Range]) -> Range:
        """The best range for a pair among what others have left."""
        gaps = _gaps(within, taken)
        if (place := self._fitting(mark, gaps) or self._of_signs(mark, gaps)) is not None:
            return place
        expected = self._found.to_target((mark.start + mark.stop) // 2)
        if (whole := self._whole_words(mark)) is not mark:
            place = self._part_of_compound(mark, whole, gaps) or self._fitting(whole, gaps)
            if place is not None:
                return place
            if (index := self._translating(whole, within)) is not None:
                if any(start <= index < end for start, end in gaps):
                    return index, index + 1
                # Rather around nothing than around a word that has nothing to do with it.
                return self._nearest_edge(gaps, self._boundary(index))
        free = [index for gap in gaps for index in range(*gap) if self._units[index].is_word]
        if free and mark.stop > mark.start:
            units = self._units
            nearest = min(
                free, key=lambda at: abs((units[at].start + units[at].end) / 2 - expected)
            )
            return nearest, nearest + 1
        return self._nearest_edge(gaps, expected)

    def _of_signs(self, mark: Mark, gaps: Sequence[Range]) -> Range | None:
        """The nearest range of the same signs for a pair around signs, or an empty one.

        None for a pair around words, or around nothing.
        """
        signs = "".join(self._text[mark.start : mark.stop].split())
        if not signs or _WORD.search(signs):
            return None
        same = [
            (start, start + len(signs))
            for first, last in gaps
            for start in range(first, last - len(signs) + 1)
            if self._written(start, start + len(signs)) == signs
        ]
        empty = ((index, index) for first, last in gaps for index in range(first, last + 1))
        expected = self._found.to_target((mark.start + mark.stop) // 2)
        return min(same or empty, key=lambda one: abs(self._boundary(one[0]) - expected))

    def _fitting(self, mark: Mark, gaps: Sequence[Range]) -> Range | None:
        """The best range for a pair in one of the gaps, or None if nothing there belongs to it."""
        best = [(self._best(mark, gap), gap) for gap in gaps]
        (score, place), gap = max(best, key=lambda one: one[0][0])
        if score >= _CERTAIN:
            return place
        return self._with_signs(mark, place, gap) if score > 0 else None

    def _nearest_edge(self, gaps: Sequence[Range], expected: float) -> Range:
        edges = (edge for gap in gaps for edge in gap)
        edge = min(edges, key=lambda index: abs(self._boundary(index) - expected))
        return edge, edge

    def _whole_words(self, mark: Mark) -> Mark:
        """A pair extended to whole words; the pair itself if it splits no word."""
        start, stop = self._found.parted.around(mark.start, mark.stop)
        if mark.start == mark.stop or (start, stop) == (mark.start, mark.stop):
            return mark
        return replace(mark, start=start, stop=stop)

    def _part_of_compound(self, mark: Mark, whole: Mark, gaps: Sequence[Range]) -> Range | None:
        """The same parts of a compound as of its source, if the translation has as many."""
        parts = [match.span() for match in PART.finditer(self._text, whole.start, whole.stop)]
        _, (start, end) = self._best(whole, (0, len(self._units)))
        words = [index for index in range(start, end) if self._units[index].is_word]
        inside = [at for at, (a, b) in enumerate(parts) if mark.start <= a and b <= mark.stop]
        if len(parts) < 2 or len(words) != len(parts) or not inside:
            return None
        place = words[inside[0]], words[inside[-1]] + 1
        return place if any(a <= place[0] and place[1] <= b for a, b in gaps) else None

    def _pinned(self, mark: Mark, within: Range, taken: Sequence[Range]) -> Range:
        """The best range for a pair one of whose tags is outside of the text."""
        start, end = within
        if mark.opens_before:
            end = min([end, *(one[0] for one in taken)])
            sums = list(accumulate(self._scores(mark, start, end), initial=0.0))
            last = start + sums.index(max(sums))
            return start, self._with_signs(mark, (start, last), (start, end))[1]
        start = max([start, *(one[1] for one in taken)])
        sums = list(accumulate(reversed(self._scores(mark, start, end)), initial=0.0))
        first = end - sums.index(max(sums))
        return self._with_signs(mark, (first, end), (start, end))[0], end

    def _best(self, mark: Mark, within: Range) -> tuple[float, Range]:
        """The range of units with the highest sum, the first and shortest of these, and its sum.

        Copied text is recognised by its content, regardless of links.
        """
        start, end = same = self._found.same_units(mark.start, mark.stop)
        if within[0] <= start < end <= within[1]:
            return _CERTAIN, same
        first = self._found.units_of(self._found.sentence_at(mark.start)).start
        last = self._found.units_of(self._found.sentence_at(max(mark.start, mark.stop - 1))).stop
        start, end = max(within[0], first), min(within[1], last)
        best, place = 0.0, (start, start)
        running, begin = 0.0, start
        for index, score in enumerate(self._scores(mark, start, end), start):
            if running <= 0:
                running, begin = 0.0, index
            running += score
            if running > best:
                best, place = running, (begin, index + 1)
        return best, place

    def _scores(self, mark: Mark, start: int, end: int) -> list[float]:
        return [self._score(mark, unit) for unit in self._units[start:end]]

    def _score(self, mark: Mark, unit: TargetUnit) -> float:
        """How far a unit belongs into a pair of tags: from -1 to 1."""
        begin, stop = self._found.sentences[unit.sentence].source
        if mark.start <= begin and stop <= mark.stop:
            return 1.0
        if not unit.is_word or not unit.sources:
            return 0.0
        return unit.certainty * (2 * _share(mark, unit) - 1)

    def _translating(self, mark: Mark, within: Range) -> int | None:
        """The unit that translates most of a pair's content, or None if there is none."""
        shares = [(_share(mark, self._units[index]), -index) for index in range(*within)]
        share, index = max(shares, default=(0.0, 0))
        return -index if share > 0 else None

    def _with_signs(self, mark: Mark, place: Range, gap: Range) -> Range:
        """The range with signs next to it, if the source has signs at the ends of the pair."""
        (start, end), text = place, self._text[mark.start : mark.stop]
        before = len(text) - len(_SIGNS_BEFORE.sub("", text))
        behind = len(text) - len(_SIGNS_BEHIND.sub("", text))
        if start == end:
            return place
        for _ in range(0 if mark.start in self._copied else before):
            if start > gap[0] and self._adjoins(start - 1) and not self._units[start - 1].is_word:
                start -= 1
        for _ in range(0 if mark.stop in self._copied else behind):
            if end < gap[1] and self._adjoins(end - 1) and not self._units[end].is_word:
                end += 1
        return start, end

    def _adjoins(self, index: int) -> bool:
        """Whether a unit and the next one are written without a space, or as French signs are."""
        one, other = self._units[index], self._units[index + 1]
        if other.start - one.end == 1 and self._found.target[one.end].isspace():
            target = self._found.target
            return target[one.end - 1] in _SPACED_BEHIND or target[other.start] in _SPACED_BEFORE
        return one.end == other.start

    def _settle(self, mark: Mark, chosen: Range) -> None:
        start, end = chosen
        if start < end:
            first, last = self._units[start].start, self._units[end - 1].end
        else:
            first = last = self._boundary(start)
        if mark.opens_before or (mark.start == 0 and start == 0):
            first = 0
        if mark.closes_after or (mark.stop == len(self._text) and end == len(self._units)):
            last = len(self._found.target)
        self.places[id(mark)] = (first, last)

    def _settle_point(
        self, mark: Mark, source: Range, within: Range, pairs: Sequence[Range]
    ) -> None:
        index, follows = self._point_index(mark, source, within)
        for start, end in pairs:
            if start < index < end:
                index, follows = (start, False) if index - start <= end - index else (end, True)
        place = self._boundary(index)
        if follows and index > within[0]:
            place = self._units[index - 1].end
        self.places[id(mark)] = (place, place)

    def _point_index(self, mark: Mark, source: Range, within: Range) -> tuple[int, bool]:
        """In front of which unit a point is, and whether it is behind the one before rather."""
        place = mark.start
        if place <= source[0]:
            return within[0], False
        if place >= source[1]:
            return within[1], True
        for number, sentence in enumerate(self._found.sentences):
            if place in sentence.source:
                here = self._found.units_of(number)
                is_start = place == sentence.source[0]
                index = here.start if is_start else here.stop
                return min(max(index, within[0]), within[1]), not is_start
        before, after = self._text[:place].rstrip(), self._text[place:].lstrip()
        # A point follows the word in front of it, if a sign is next or only a space behind.
        follows = after == self._text[place:] and not is_word(after[:1])
        follows |= before == self._text[:place] and after != self._text[place:]
        words = [(len(before) - 1, True), (len(self._text) - len(after), False)]
        for at, is_before in words if follows else reversed(words):
            units = [i for i in range(*within) if _translates(self._units[i], at)]
            if units and is_word(self._text[at : at + 1]):
                return (units[-1] + 1, True) if is_before else (units[0], False)
        expected = self._found.to_target(place)
        edges = range(within[0], within[1] + 1)

        def distance(at: int) -> float:
            is_behind = follows and at > within[0]
            return abs((self._units[at - 1].end if is_behind else self._boundary(at)) - expected)

        return min(edges, key=distance), follows

    def _written(self, start: int, end: int) -> str:
        """The text of a run of units, without white space.  Empty if it has atoms."""
        units = self._units[start:end]
        if any(unit.atom for unit in units):
            return ""
        return "".join(self._found.target[unit.start : unit.end] for unit in units)

    def _boundary(self, index: int) -> int:
        """The place in front of a unit, or behind the last one."""
        if index < len(self._units):
            return self._units[index].start
        return len(self._found.target)


def _gaps(within: Range, taken: Sequence[Range]) -> list[Range]:
    """The gaps that sorted ranges leave in another range; at least one, which may be empty."""
    starts = [within[0], *(end for _, end in taken)]
    ends = [*(start for start, _ in taken), within[1]]
    return list(zip(starts, ends, strict=True))


def _share(mark: Mark, unit: TargetUnit) -> float:
    """How much of what a unit translates is within a pair of tags."""
    inside = sum(max(0, min(mark.stop, b) - max(mark.start, a)) for a, b in unit.sources)
    return inside / max(1, sum(b - a for a, b in unit.sources))


def _translates(unit: TargetUnit, place: int) -> bool:
    return unit.is_word and any(start <= place < end for start, end in unit.sources)
