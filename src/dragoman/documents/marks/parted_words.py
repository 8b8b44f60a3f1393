"""Words, signs and single characters of a text, and words in which marks begin or end."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import regex

from dragoman.documents.marks.marked_text import Range

# Scripts without spaces between words.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
UNIT = regex.compile(
    rf"[\p{{Katakana}}ー]+|[{_UNSPACED}]\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+|\S",
    regex.VERSION1,
)
"""A word, a character of a script without spaces between words, or a sign."""
PART = regex.compile(r"[\p{L}\p{M}\p{N}]+")
"""A part of a compound, such as "twenty-third"."""
_COMPOUND = regex.compile(rf"{PART.pattern}(?:[-\u2010\u2011'\u2019]{PART.pattern})+")
_IN_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]")


def is_word(text: str) -> bool:
    """Whether a text begins with a character of a word."""
    return _IN_WORD.match(text) is not None


class PartedWords:
    """Words of a source in which edges of marks are, such as H₂O."""

    def __init__(self, text: str, edges: Iterable[int]) -> None:
        self._places: dict[str, list[list[int]]] = defaultdict(list)
        self._spans: list[Range] = []
        self._most = 0
        edges = sorted(set(edges))
        self._compounds = [
            found.span() for found in _COMPOUND.finditer(text) if _within(edges, found.span())
        ]
        if not any(is_word(text[at - 1 : at]) and is_word(text[at : at + 1]) for at in edges if at):
            return
        for found in UNIT.finditer(text):
            start, stop = found.span()
            inside = edges[bisect_left(edges, start + 1) : bisect_left(edges, stop)]
            self._places[found[0].casefold()].append([start, *inside, stop])
            if inside:
                self._spans.append(found.span())
        for word, places in list(self._places.items()):
            lengths = {tuple(at - place[0] for at in place) for place in places}
            if len(lengths) > 1 or len(places[0]) == 2:  # not always so, or never
                del self._places[word]
        self._most = max(map(len, self._places), default=0)

    def around(self, start: int, stop: int) -> Range:
        """A range of the source with the whole of the words in which it begins and ends.

        A compound such as "twenty-third" is one, since it may be one in the translation.
        """
        for spans in (self._spans, self._compounds):
            start, stop = min(start, _at(spans, start)[0]), max(stop, _at(spans, stop)[1])
        return start, stop

    def next(self, word: str) -> Iterator[tuple[str, Range | None]]:
        """The parts of a word of the translation, each with the part of the source that it copies.

        Words come in order.  A copied word with a number may have an ending, such as a particle of
        Korean.
        """
        folded = word.casefold() if self._places else ""
        places = self._places.get(folded) or self._places.get(self._without_ending(folded))
        if not places or len(folded) != len(word):
            yield word, None
            return
        edges = places.pop(0) if len(places) > 1 else places[0]
        for start, stop in pairwise(edges):
            yield word[start - edges[0] : stop - edges[0]], (start, stop)
        if rest := word[edges[-1] - edges[0] :]:
            yield rest, None

    def _without_ending(self, word: str) -> str:
        """The longest of the words with a number that a word begins with.  Empty for none."""
        for length in range(min(len(word) - 1, self._most), 0, -1):
            begin, behind = word[:length], word[length]
            if begin in self._places and not behind.isdigit() and any(map(str.isdigit, begin)):
                return begin
        return ""


def _at(spans: Sequence[Range], place: int) -> Range:
    """The sorted range that a place is within; the place itself if it is in none."""
    index = bisect_left(spans, (place,)) - 1
    if index >= 0 and place < spans[index][1]:
        return spans[index]
    return place, place


def _within(edges: Sequence[int], span: Range) -> bool:
    """Whether one of sorted places is within a range, not at its ends."""
    index = bisect_left(edges, span[0] + 1)
    return index < len(edges) and edges[index] < span[1]
