"""Which words of a translation translate what: by links, and without them by likeness and place."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import regex

from dragoman.documents.marked_text import Mark
from dragoman.translation.service.interface import Link, TranslatedText
from dragoman.translation.service.placeholders import strays

# Scripts without spaces between words.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNIT = regex.compile(
    rf"[\p{{Katakana}}ー]+|[{_UNSPACED}]\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+|\S",
    regex.VERSION1,
)
_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}](?:.*[\p{L}\p{M}\p{N}])?", regex.DOTALL)
_IN_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]")

_LONG_WORD = 4
_FAR = 2000
"""Characters from where a copy is expected, beyond which it is not looked for."""
_NOTHING = Mark("", "", 0, 0, is_atom=True)

Range = tuple[int, int]
"""Start and end, half-open, in characters."""


def is_word(text: str) -> bool:
    """Whether a text begins with a part of a word; signs and white space are none."""
    return _IN_WORD.match(text) is not None


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
    """What it translates, in the source; empty if that is unknown."""
    certainty: float = 1.0
    """Of what it translates: less if it is guessed."""
    atom: Mark | None = None
    """What is written instead of it."""


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
        return _interpolated(self.anchors, place)

    def to_source(self, place: float) -> float:
        """The reverse."""
        return _interpolated([(target, source) for source, target in self.anchors], place)


class Correspondence:
    """What the words of a translation translate.

    Args:
        text: the source.
        translated: its translation.
        atoms: what is copied, in the order of the source.

    Attributes:
        sentences: in order.
        units: of the translation, in order; they have all of it but white space.
        lost: atoms that are not in the translation.
    """

    def __init__(self, text: str, translated: TranslatedText, atoms: Sequence[Mark]) -> None:
        self._text, self.target = text, translated.text
        links = translated.links
        self.sentences = _sentences(text, translated, links)
        self._source_starts = [sentence.source[0] for sentence in self.sentences]
        self._target_starts = [sentence.target[0] for sentence in self.sentences]
        placed = self._placed_atoms(atoms)
        self.lost = [atom for atom in atoms if id(atom) not in {id(one) for _, _, one in placed}]
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
        """The run of units that is the same text as a part of the source, if both are unique.

        Args:
            start: of the part, in characters.
            end: of the part.

        Returns:
            Index of the first unit, and after the last one; the same number twice if there is no
            such run, or if the part is a short word, which two languages may have by chance.
        """
        part = self._text[start:end]
        is_short = len(part) < _LONG_WORD and part.isalpha()
        if is_short or _places(part, self._text) != [start]:
            return 0, 0
        found = _places(part, self.target)
        if len(found) != 1:
            return 0, 0
        first = bisect_left(self._first_units, found[0])
        last = bisect_left(self._first_units, found[0] + len(part))
        whole = first < last and self.units[first].start == found[0]
        return (
            (first, last) if whole and self.units[last - 1].end == found[0] + len(part) else (0, 0)
        )

    def put_atom(self, first: int, last: int, atom: Mark) -> None:
        """Replace a run of units by an atom.

        Args:
            first: index of the first unit.
            last: after the last one.
            atom: what they translate.
        """
        start, end = self.units[first].start, self.units[last - 1].end
        source = ((atom.start, atom.stop),)
        sentence = self.units[first].sentence
        self.units[first:last] = [TargetUnit(start, end, sentence, True, source, atom=atom)]
        self._first_units[first:last] = [start]

    def sentence_at(self, place: int) -> int:
        """Index of the sentence at a place of the source, or else of the one in front of it."""
        return max(0, bisect_left(self._source_starts, place + 1) - 1)

    def to_target(self, place: int) -> float:
        """Where in the translation a place of the source is, by proportion."""
        return self.sentences[self.sentence_at(place)].to_target(place)

    def _placed_atoms(self, atoms: Sequence[Mark]) -> list[tuple[int, int, Mark]]:
        """Where atoms are in the translation, each at the nearest of its places that is free."""
        placed: list[tuple[int, int, Mark]] = []
        for atom in sorted(atoms, key=lambda one: one.start - one.stop):  # the longest first
            content = regex.escape(self._text[atom.start : atom.stop])
            expected = int(self.to_target(atom.start))
            window = max(0, expected - _FAR), expected + _FAR
            found = [
                match.span()
                for match in regex.finditer(content, self.target, regex.IGNORECASE, *window)
                if all(match.end() <= start or end <= match.start() for start, end, _ in placed)
            ]
            if found:
                whole = [span for span in found if _is_apart(self.target, span)]
                start, end = min(whole or found, key=lambda span: abs(span[0] - expected))
                placed.append((start, end, atom))
        for start, end in self._strays(atoms):
            if all(end <= begin or stop <= start for begin, stop, _ in placed):
                placed.append((*self._with_space(start, end), _NOTHING))  # one too many
        return sorted(placed, key=lambda one: one[0])

    def _strays(self, atoms: Sequence[Mark]) -> Iterator[Range]:
        """Where the translation has what programs read, wanted or not."""
        wanted = {self._text[atom.start : atom.stop] for atom in atoms}
        yield from strays(self.target, wanted)
        texts = {self._text[atom.start : atom.stop] for atom in atoms if atom.is_text}
        for text in texts:
            if len(text) >= _LONG_WORD:  # as a part of a longer word, too
                for match in regex.finditer(regex.escape(text), self.target):
                    yield match.span()

    def _with_space(self, start: int, end: int) -> Range:
        """A range with the white space behind it, or else in front."""
        stop = len(self.target) - len(self.target[end:].lstrip(" "))
        if stop < len(self.target):
            return start, stop
        return len(self.target[:start].rstrip(" ")), stop

    def _units(self, placed: Iterable[tuple[int, int, Mark]]) -> Iterator[TargetUnit]:
        place = 0
        for start, end, atom in placed:
            yield from self._between(place, start)
            source = ((atom.start, atom.stop),)
            yield TargetUnit(start, end, self._of_target(start), True, source, atom=atom)
            place = end
        yield from self._between(place, len(self.target))

    def _between(self, start: int, end: int) -> Iterator[TargetUnit]:
        for found in _UNIT.finditer(self.target, start, end):
            at = found.start()
            yield TargetUnit(at, found.end(), self._of_target(at), is_word(found[0]))

    def _of_target(self, place: int) -> int:
        return max(0, bisect_left(self._target_starts, place + 1) - 1)

    def _read_links(self, links: Sequence[Link]) -> None:
        for link in links:
            source = _without_signs(self._text, link.source_start, link.source_end)
            index = max(0, bisect_left(self._first_units, link.target_start + 1) - 1)
            while index < len(self.units) and self.units[index].start < link.target_end:
                unit = self.units[index]
                if unit.atom is None and unit.end > link.target_start:
                    unit.sources = (*unit.sources, source)
                index += 1

    def _read_likeness(self, index: int) -> None:
        """Finds what the units of a sentence without links translate."""
        sentence = self.sentences[index]
        units = [self.units[at] for at in self.units_of(index)]
        words = _once(
            (self.target[unit.start : unit.end].casefold(), (unit.start, unit.end))
            for unit in units
            if unit.is_word and unit.atom is None
        )
        same = _once(
            (found[0].casefold(), found.span())
            for found in _UNIT.finditer(self._text, *sentence.source)
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
            if unit.atom is None:
                same_word = known.get((unit.start, unit.end))
                middle = int(sentence.to_source((unit.start + unit.end) / 2))
                unit.sources = [same_word or (middle, middle + 1)]
                unit.certainty = 1.0 if same_word else 0.5


def _sentences(text: str, translated: TranslatedText, links: Sequence[Link]) -> list[SentencePair]:
    found = [
        SentencePair(
            (one.start, one.start + len(one.source)),
            (one.target_start, one.target_start + len(one.renderings[0].text)),
            bool(one.renderings[0].links),
        )
        for one in translated.sentences
    ]
    if not found:
        found = [SentencePair((0, len(text)), (0, len(translated.text)), bool(links))]
    for one in found:
        one.anchors = [(one.source[0], one.target[0]), (one.source[1], one.target[1])]
    return found


def _increasing(
    anchors: Sequence[tuple[int, int]], source: Range, target: Range
) -> list[tuple[int, int]]:
    """What stands in place of the last anchor, its end, when a pair of ranges comes before it."""
    (last_source, last_target), end = anchors[-2], anchors[-1]
    fits = last_source <= source[0] and last_target <= target[0]
    if not fits or source[1] > end[0] or target[1] > end[1]:
        return [end]
    return [(source[0], target[0]), (source[1], target[1]), end]


def _interpolated(points: Sequence[tuple[int, int]], place: float) -> float:
    for (x, y), (next_x, next_y) in pairwise(points):
        if place <= next_x:
            share = (place - x) / (next_x - x) if next_x > x else 0.0
            return y + max(0.0, share) * (next_y - y)
    return points[-1][1]


def _without_signs(text: str, start: int, end: int) -> Range:
    """A range of a text without signs around its words, if it has words."""
    words = _WORDS.search(text, start, end)
    return (start, end) if words is None else words.span()


def _places(part: str, text: str) -> list[int]:
    """Where a part is in a text, and is no part of longer words; two places are enough to know."""
    found: list[int] = []
    place = text.find(part) if part else -1
    while place >= 0 and len(found) < 2:
        if _is_apart(text, (place, place + len(part))):
            found.append(place)
        place = text.find(part, place + 1)
    return found


def _once(words: Iterable[tuple[str, Range]]) -> dict[str, Range]:
    """The places of words that occur once."""
    places: dict[str, list[Range]] = defaultdict(list)
    for word, place in words:
        places[word].append(place)
    return {word: found[0] for word, found in places.items() if len(found) == 1}


def _is_apart(text: str, span: Range) -> bool:
    """Whether a place in a text is no part of a longer word."""
    start, end = span
    return not (
        (start > 0 and is_word(text[start - 1]) and is_word(text[start]))
        or (end < len(text) and is_word(text[end]) and is_word(text[end - 1]))
    )
