"""Parts of a text that are copied into its translation: where they are there, and surplus ones."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dragoman.documents.marks.marked_text import Mark, Range
from dragoman.documents.marks.parted_words import UNIT, is_word
from dragoman.text.terms.copied_text import strays

LONG_WORD = 4
"""Characters of a word that two languages hardly have by chance."""
_FAR = 2000
"""Characters from where a copy is expected, beyond which it is not looked for."""


class TakenRanges:
    """Parts of a text that are taken, none of which overlaps another but in white space."""

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self._ranges = sorted(ranges)

    def add(self, span: Range) -> None:
        """Take a part."""
        insort(self._ranges, span)

    def is_free(self, span: Range) -> bool:
        """Whether nothing of a part is taken."""
        start, end = span
        before = bisect_left(self._ranges, (end,)) - 1  # the last one that begins in front of it
        return before < 0 or self._ranges[before][1] <= start


def surplus(text: str, target: str, atoms: Sequence[Mark], taken: TakenRanges) -> Iterator[Range]:
    """Surplus copies in a translation of parts that only programs read, with white space.

    Their places are added to those that are taken.
    """
    cut = _cut(text, atoms)
    for start, end in _strays(text, target, atoms):
        if not taken.is_free((start, end)):
            continue
        if cut[target[start:end]] > 0:
            cut[target[start:end]] -= 1
            taken.add((start, end))
            continue
        # With the white space behind it, or else in front.
        first, last = start, end
        while last < len(target) and target[last] == " ":
            last += 1
        while last == len(target) and first and target[first - 1] == " ":
            first -= 1
        taken.add((first, last))
        yield first, last


def _cut(text: str, atoms: Sequence[Mark]) -> Counter[str]:
    """How often a source has what programs read and no atom is, since markup cuts it."""
    copied = [text[atom.start : atom.stop] for atom in atoms]
    counts = Counter(text[start:end] for start, end in strays(text, set(copied)))
    counts.subtract(copied)
    return counts


def _strays(text: str, target: str, atoms: Sequence[Mark]) -> Iterator[Range]:
    """Spans of a translation that only programs read, wanted or not."""
    wanted = {text[atom.start : atom.stop] for atom in atoms}
    yield from strays(target, wanted)
    for one in {text[atom.start : atom.stop] for atom in atoms if atom.is_text}:
        if len(one) >= LONG_WORD:  # as a part of a longer word, too
            yield from occurrences(one, target)


def occurrences(part: str, text: str) -> Iterator[Range]:
    """Spans of a part in a text.  Regular expressions would need time quadratic in its length."""
    place = text.find(part) if part else -1
    while place >= 0:
        yield place, place + len(part)
        place = text.find(part, place + len(part))


class Copies:
    """Finds copies in a translation.

    A stretch is searched once for each content: a text may have thousands of equal parts.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._found: dict[tuple[str, int], list[Range]] = {}

    def nearest(
        self, content: str, expected: int, taken: TakenRanges, *, is_part: bool
    ) -> Range | None:
        """The nearest free place, outside of longer words if possible.

        A part of a word counts next to letters of another script, as "an" in "设置an选项".
        Next to other letters it may be chance, as "an" in "Hans", unless the content, in upper or
        lower case, is a part of a word in the source.  Names (``x1``) may have endings.
        """
        places = self._around(content, expected // _FAR)
        right = bisect_left(places, (expected,))
        left, part = right - 1, None
        while (at := _nearer(places, left, right, expected)) is not None:
            span = places[at]
            if not taken.is_free(span):
                del places[at]  # it never will be again
                right -= at == left
            elif is_apart(self._target, span):
                return span
            else:
                if part is None and (is_part or not _is_by_chance(self._target, span)):
                    part = span
                right += at == right
            left -= at == left
        return part

    def _around(self, content: str, stretch: int) -> list[Range]:
        """All places in a stretch of the translation and in its neighbours."""
        if (content, stretch) not in self._found:
            start, stop = max(0, (stretch - 1) * _FAR), (stretch + 2) * _FAR + len(content)
            window = self._target[start:stop]
            places = occurrences(content.lower(), window.lower())
            if len(content.lower()) != len(content) or len(window.lower()) != len(window):
                places = occurrences(content, window)  # places are others in lower case
            self._found[content, stretch] = [(start + one, start + end) for one, end in places]
        return self._found[content, stretch]


def _nearer(places: Sequence[Range], left: int, right: int, expected: int) -> int | None:
    """Which of the places at the indices left and right of the expected one is nearer.

    None if both are too far.  An index beyond the ends stands for no place.
    """
    before = expected - places[left][0] if left >= 0 else _FAR + 1
    behind = places[right][0] - expected if right < len(places) else _FAR + 1
    if min(before, behind) > _FAR:
        return None
    return left if before <= behind else right


def _is_by_chance(text: str, span: Range) -> bool:
    """Whether a place in a text may be a part of a word that is not meant."""
    start, end = span
    edges = [(start - 1, start)] * (start > 0) + [(end - 1, end)] * (end < len(text))
    if not text[start:end].isalpha():
        edges = edges[: start > 0]  # an ending
    return any(
        is_word(text[one]) and is_word(text[other]) and _script(text[one]) == _script(text[other])
        for one, other in edges
    )


def _script(character: str) -> str:
    """The script of a letter; the character itself in scripts without spaces."""
    if UNIT.fullmatch(character + character) is None:
        return character
    return unicodedata.name(character, character).partition(" ")[0]


def is_apart(text: str, span: Range) -> bool:
    """Whether a place in a text is no part of a longer word."""
    start, end = span
    return not (
        (start > 0 and is_word(text[start - 1]) and is_word(text[start]))
        or (end < len(text) and is_word(text[end]) and is_word(text[end - 1]))
    )
