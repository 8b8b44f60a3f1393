"""Which words of a translation translate what: by links, and without them by likeness and place."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import regex

from dragoman.documents.marks.copied_parts import LONG_WORD, Copies, TakenRanges, is_apart, surplus
from dragoman.documents.marks.marked_text import Mark, Range
from dragoman.documents.marks.parted_words import UNIT, PartedWords, is_word
from dragoman.translation.service.translated_text import Link, TranslatedText

_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}](?:.*[\p{L}\p{M}\p{N}])?", regex.DOTALL)

NOTHING = Mark("", "", 0, 0, is_atom=True)
"""Replaces surplus copies: nothing is written."""

_Coordinate = Callable[[tuple[int, int]], int]
_IN_SOURCE: _Coordinate = itemgetter(0)
_IN_TARGET: _Coordinate = itemgetter(1)


@dataclass
class TargetUnit:
    """A word, sign or atom of a translation, and what it translates."""

    start: int
    """In characters of the translation."""
    end: int
    sentence: int
    """Index of its sentence."""
    is_word: bool
    sources: Sequence[Range] = ()
    """Its words of the source.  Empty if they are unknown."""
    certainty: float = 1.0
    """Of what it translates: less if it is guessed."""
    atom: Mark | None = None
    """The atom that is written instead of it."""
    is_part: bool = False
    """Whether it is a part of a copied word, so that it is known what it translates."""


@dataclass
class SentencePair:
    """A sentence, where its translation is, and places that are known to belong together."""

    source: Range
    target: Range
    is_linked: bool
    anchors: list[tuple[int, int]] = field(default_factory=list)
    """Places in source and target, increasing in both, from start to end."""

    def to_target(self, place: float) -> float:
        """The place in the target that belongs to one in the source, by proportion."""
        return _interpolated(self.anchors, place, _IN_SOURCE, _IN_TARGET)

    def to_source(self, place: float) -> float:
        """The reverse."""
        return _interpolated(self.anchors, place, _IN_TARGET, _IN_SOURCE)


class Correspondence:
    """The words of a translation and the words of the source that they translate.

    A copied word with edges of marks in it becomes a unit for each part.

    Attributes:
        sentences: in order.
        units: of the translation, in order, without white space.
        lost: atoms that are not in the translation.
        parted: words of the source in which marks begin or end.
    """

    def __init__(
        self,
        text: str,
        translated: TranslatedText,
        atoms: Sequence[Mark],
        edges: Iterable[int],
    ) -> None:
        self._text, self.target = text, translated.text
        links = translated.links
        self.sentences = linked_sentences(text, translated)
        self._source_starts = [sentence.source[0] for sentence in self.sentences]
        self._target_starts = [sentence.target[0] for sentence in self.sentences]
        placed = self._placed_atoms(atoms)
        found = {id(one) for _, _, one in placed}
        self._copied = sorted((one.start, one.stop) for one in atoms)
        self.lost = [atom for atom in atoms if id(atom) not in found]
        self.parted = PartedWords(text, edges)
        self.units = list(self._units(placed))
        self._first_units = [unit.start for unit in self.units]
        self._read_links(links)
        for sentence in range(len(self.sentences)):
            self._read_likeness(sentence)

    def units_of(self, sentence: int) -> range:
        """Indices of the units of a sentence."""
        start, end = self.sentences[sentence].target
        return range(bisect_left(self._first_units, start), bisect_left(self._first_units, end))

    def same_units(self, start: int, end: int) -> tuple[int, int]:
        """The run of units with the text of a part of the source, if both occur once.

        Returns:
            Index of the first unit, and after the last.  They are equal if there is no such run,
            or if the part is a short word, which two languages may share by chance.
        """
        part = self._text[start:end]
        is_short = len(part) < LONG_WORD and part.isalpha()
        if is_short or _places(part, self._text) != [start]:
            return 0, 0
        places = _places(part, self.target)
        if len(places) != 1:
            return 0, 0
        first = bisect_left(self._first_units, places[0])
        last = bisect_left(self._first_units, places[0] + len(part))
        whole = first < last and self.units[first].start == places[0]
        return (
            (first, last) if whole and self.units[last - 1].end == places[0] + len(part) else (0, 0)
        )

    def put_atom(self, first: int, last: int, atom: Mark) -> None:
        """Replace a run of units, up to ``last``, by an atom, which they translate."""
        start, end = self.units[first].start, self.units[last - 1].end
        source = ((atom.start, atom.stop),)
        sentence = self.units[first].sentence
        self.units[first:last] = [TargetUnit(start, end, sentence, True, source, atom=atom)]
        self._first_units[first:last] = [start]
        self._leave_out_rest(atom, sentence, Counter(self.target[start:end]))

    def _leave_out_rest(self, atom: Mark, sentence: int, signs: Counter[str]) -> None:
        """Write nothing instead of other units of a sentence that translate parts of a put atom.

        It replaces ``signs``, of which no more are left out than the atom has besides.
        """
        left = Counter(self._text[atom.start : atom.stop])
        left.subtract(signs)
        begin = end = -1  # of neighbouring units that are left out
        for index in self.units_of(sentence):
            unit = self.units[index]
            inside = all(atom.start <= a and b <= atom.stop for a, b in unit.sources)
            if unit.atom is not None or not unit.sources or not inside:
                continue
            if not unit.is_word:
                sign = self.target[unit.start : unit.end]
                left[sign] -= 1
                if left[sign] < 0:
                    continue
            unit.atom = NOTHING
            begin = begin if unit.start == end else unit.start
            # One of the spaces around them is enough.
            is_apart = begin == 0 or self.target[begin - 1] == " "
            unit.end += is_apart and self.target[unit.end : unit.end + 1] == " "
            end = unit.end

    def sentence_at(self, place: int) -> int:
        """Index of the sentence at a place of the source, or else of the one in front of it."""
        return max(0, bisect_left(self._source_starts, place + 1) - 1)

    def to_target(self, place: int) -> float:
        """The place in the translation of a place of the source, by proportion."""
        return self.sentences[self.sentence_at(place)].to_target(place)

    def _placed_atoms(self, atoms: Sequence[Mark]) -> list[tuple[int, int, Mark]]:
        """Places of atoms in the translation, each the nearest of its places that is free."""
        placed: list[tuple[int, int, Mark]] = []
        taken = TakenRanges()
        copies = Copies(self.target)
        for atom in sorted(atoms, key=lambda one: one.start - one.stop):  # the longest first
            expected = int(self.to_target(atom.start))
            content = self._text[atom.start : atom.stop]
            is_part = not is_apart(self._text, (atom.start, atom.stop))
            span = copies.nearest(content, expected, taken, is_part=is_part)
            if span is not None:
                placed.append((*span, atom))
                taken.add(span)
        placed += [(*span, NOTHING) for span in surplus(self._text, self.target, atoms, taken)]
        return sorted(placed, key=lambda one: one[0])

    def _units(self, placed: Iterable[tuple[int, int, Mark]]) -> Iterator[TargetUnit]:
        place = 0
        for start, end, atom in placed:
            yield from self._between(place, start)
            source = ((atom.start, atom.stop),)
            yield TargetUnit(start, end, self._of_target(start), True, source, atom=atom)
            place = end
        yield from self._between(place, len(self.target))

    def _between(self, start: int, end: int) -> Iterator[TargetUnit]:
        for found in UNIT.finditer(self.target, start, end):
            at, sentence = found.start(), self._of_target(found.start())
            for part, source in self.parted.next(found[0]):
                stop = at + len(part)
                sources = () if source is None else (source,)
                is_part = len(part) < len(found[0])
                yield TargetUnit(at, stop, sentence, is_word(part), sources, is_part=is_part)
                at = stop

    def _of_target(self, place: int) -> int:
        return max(0, bisect_left(self._target_starts, place + 1) - 1)

    def _read_links(self, links: Sequence[Link]) -> None:
        for link in links:
            source = self._beside_atoms(link.source_start, link.source_end)
            source = _without_signs(self._text, *source)
            same = self._same_words(link, source)
            index = max(0, bisect_left(self._first_units, link.target_start + 1) - 1)
            while index < len(self.units) and self.units[index].start < link.target_end:
                unit = self.units[index]
                if unit.atom is None and not unit.is_part and unit.end > link.target_start:
                    word = self.target[unit.start : unit.end].casefold()
                    unit.sources = (*unit.sources, same.get(word, source))
                index += 1

    def _beside_atoms(self, start: int, end: int) -> Range:
        """A range of the source without what is copied at its ends, unless that is all of it."""
        first, last = start, end
        at = bisect_left(self._copied, (start, start))
        if at < len(self._copied) and self._copied[at][0] == start:
            first = self._copied[at][1]
        at = bisect_left(self._copied, (end, 0)) - 1
        if at >= 0 and self._copied[at][1] == end:
            last = self._copied[at][0]
        return (first, last) if first < last else (start, end)

    def _same_words(self, link: Link, source: Range) -> dict[str, Range]:
        """Words that a link has once on both sides, if it has more than one, as in "and/or"."""
        if UNIT.fullmatch(self._text, *source):
            return {}
        ours = UNIT.finditer(self._text, *source)
        theirs = UNIT.findall(self.target, link.target_start, link.target_end)
        known = {word.casefold() for word in theirs}
        found = _once((one[0].casefold(), one.span()) for one in ours if is_word(one[0]))
        return {word: place for word, place in found.items() if word in known}

    def _read_likeness(self, index: int) -> None:
        """Finds what the units of a sentence without links translate."""
        sentence = self.sentences[index]
        units = [self.units[at] for at in self.units_of(index)]
        words = _once(
            (self.target[unit.start : unit.end].casefold(), (unit.start, unit.end))
            for unit in units
            if unit.is_word and unit.atom is None and not unit.is_part
        )
        same = _once(
            (found[0].casefold(), found.span())
            for found in UNIT.finditer(self._text, *sentence.source)
            if is_word(found[0])
        )
        pairs = [(same[word], place) for word, place in words.items() if word in same]
        pairs += [(unit.sources[0], (unit.start, unit.end)) for unit in units if unit.atom]
        for source, target in sorted(pairs, key=lambda pair: pair[1]):
            sentence.anchors[-1:] = _increasing(sentence.anchors, source, target)
        if sentence.is_linked:
            return
        known = {target: source for source, target in pairs}
        for unit in units:
            if unit.atom is None and not unit.is_part:
                same_word = known.get((unit.start, unit.end))
                middle = int(sentence.to_source((unit.start + unit.end) / 2))
                unit.sources = [same_word or (middle, middle + 1)]
                unit.certainty = 1.0 if same_word else 0.5


def linked_sentences(text: str, translated: TranslatedText) -> list[SentencePair]:
    """The sentences of a text and their translations, in order."""
    sentences = [
        SentencePair(
            (sentence.start, sentence.start + len(sentence.source)),
            (sentence.target_start, sentence.target_start + len(sentence.renderings[0].text)),
            bool(sentence.renderings[0].links),
        )
        for sentence in translated.sentences
    ]
    if not sentences:
        sentences = [
            SentencePair((0, len(text)), (0, len(translated.text)), bool(translated.links))
        ]
    for pair in sentences:
        pair.anchors = [(pair.source[0], pair.target[0]), (pair.source[1], pair.target[1])]
    return sentences


def _increasing(
    anchors: Sequence[tuple[int, int]], source: Range, target: Range
) -> list[tuple[int, int]]:
    """The end of a list of anchors when a pair of ranges comes before its last one, the end."""
    (last_source, last_target), end = anchors[-2], anchors[-1]
    fits = last_source <= source[0] and last_target <= target[0]
    if not fits or source[1] > end[0] or target[1] > end[1]:
        return [end]
    return [(source[0], target[0]), (source[1], target[1]), end]


def _interpolated(
    anchors: Sequence[tuple[int, int]], place: float, given: _Coordinate, wanted: _Coordinate
) -> float:
    """One coordinate of a place between anchors, from the other, in which they are increasing."""
    index = bisect_left(anchors, place, 1, key=given)
    if index == len(anchors):
        return wanted(anchors[-1])
    before, after = anchors[index - 1], anchors[index]
    x, next_x = given(before), given(after)
    share = (place - x) / (next_x - x) if next_x > x else 0.0
    return wanted(before) + max(0.0, share) * (wanted(after) - wanted(before))


def _without_signs(text: str, start: int, end: int) -> Range:
    """A range of a text without signs around its words, if it has words."""
    words = _WORDS.search(text, start, end)
    return (start, end) if words is None else words.span()


def _places(part: str, text: str) -> list[int]:
    """Places of a part in a text outside of longer words.  At most two, which is enough to know."""
    places: list[int] = []
    place = text.find(part) if part else -1
    while place >= 0 and len(places) < 2:
        if is_apart(text, (place, place + len(part))):
            places.append(place)
        place = text.find(part, place + 1)
    return places


def _once(words: Iterable[tuple[str, Range]]) -> dict[str, Range]:
    """The places of words that occur once."""
    places: dict[str, list[Range]] = defaultdict(list)
    for word, place in words:
        places[word].append(place)
    return {word: found[0] for word, found in places.items() if len(found) == 1}
