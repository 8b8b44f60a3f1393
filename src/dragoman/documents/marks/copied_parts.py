"""What of a translation only programs read, and how often its source has that."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dragoman.documents.marks.marked_text import Mark
from dragoman.translation.service.placeholders import strays

_LONG_WORD = 4

Range = tuple[int, int]
"""Start and end, half-open, in characters."""


class TakenRanges:
    """Parts of a text that are taken, none of which overlaps another but in white space.

    Args:
        ranges: that are taken already.
    """

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
    """What a translation has too much of what only a program could have meant, with white space.

    Args:
        text: the source.
        target: its translation.
        atoms: what is copied.
        taken: where that is in the translation; what else is found is added.
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
    found = Counter(text[start:end] for start, end in strays(text, set(copied)))
    found.subtract(copied)
    return found


def _strays(text: str, target: str, atoms: Sequence[Mark]) -> Iterator[Range]:
    """Where a translation has what programs read, wanted or not."""
    wanted = {text[atom.start : atom.stop] for atom in atoms}
    yield from strays(target, wanted)
    for one in {text[atom.start : atom.stop] for atom in atoms if atom.is_text}:
        if len(one) >= _LONG_WORD:  # as a part of a longer word, too
            yield from occurrences(one, target)


def occurrences(part: str, text: str) -> Iterator[Range]:
    """Where a part is in a text; regular expressions would need time quadratic in its length."""
    place = text.find(part) if part else -1
    while place >= 0:
        yield place, place + len(part)
        place = text.find(part, place + len(part))
