"""Word boundaries, for finding terms in a text.

Scripts without spaces have no boundaries, and a term may occur anywhere.  Hangul is written with
spaces, but particles follow a word without a space, so a word may end before the next space.
Particles also follow numbers, placeholders and names in other scripts, which in turn also follow
Hangul, as in "제5장".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import count

import regex

UNSPACED = "".join(
    rf"\p{{Script={name}}}"
    for name in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
) + ("ー\uff70")  # which lengthen the vowel of a kana, and belong to no script
"""Characters of scripts without spaces, as in brackets of a regular expression."""

_IN_WORD = regex.compile(rf"(?V1)[[\p{{L}}\p{{M}}\p{{N}}_]--[{UNSPACED}]]")
_MARKED = regex.compile(r"[\p{L}\p{M}\p{N}]\p{M}")
_HANGUL = regex.compile(r"\p{Script=Hangul}")
_FINAL_SIGMA, _SIGMA = "\u03c2", "\u03c3"

Span = tuple[int, int]
"""Start and end of a part of a text, in characters; the end is not included."""


def in_word(character: str) -> bool:
    """Whether a character joins similar ones to a word: of a script with spaces, or a digit.

    The empty string, beyond the ends of a text, does not.
    """
    return _IN_WORD.match(character) is not None


def suffixed(character: str) -> bool:
    """Whether particles may follow a word that ends in this without a space: Hangul."""
    return _HANGUL.match(character) is not None


def continues(character: str) -> bool:
    """Whether a character joins a preceding word that is not in Hangul; a particle does not."""
    return in_word(character) and not suffixed(character)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether ``text[start:end]`` begins and ends at possible word boundaries."""
    before, first = text[start - 1 : start], text[start]
    if in_word(first) and in_word(before) and (suffixed(first) or not suffixed(before)):
        return False
    if _MARKED.match(text, end - 1):
        return False  # the mark belongs to the letter, also of a script without spaces
    last = text[end - 1]
    return suffixed(last) or not (in_word(last) and continues(text[end : end + 1]))


def occurrences(text: str, phrase: str, *, whole: bool = True) -> Iterator[Span]:
    """Positions of ``phrase`` in ``text`` in exactly this spelling, possibly overlapping.

    Args:
        whole: whether it must begin and end at possible word boundaries.
    """
    start = text.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        if not whole or is_whole(text, start, end):
            yield start, end
        start = text.find(phrase, start + 1)


def fold(text: str) -> str:
    """``text`` in lower case, character by character, so that positions do not change."""
    lowered = (low if len(low := c.lower()) == 1 else c for c in text)
    return "".join(lowered).replace(_FINAL_SIGMA, _SIGMA)


def longest_apart(spans: Iterable[Span]) -> list[int]:
    """Indices of spans that do not overlap, in the order of the text.

    The longest is taken first. Of equally long spans, the first in the text wins, then the first
    given.
    """
    taken: list[Span] = []  # in the order of the text
    chosen: list[tuple[Span, int]] = []
    order = sorted(zip(spans, count()), key=lambda one: (one[0][0] - one[0][1], one[0][0], one[1]))
    for span, index in order:
        at = bisect_left(taken, span)
        if (not at or taken[at - 1][1] <= span[0]) and (
            at == len(taken) or span[1] <= taken[at][0]
        ):
            taken.insert(at, span)
            chosen.append((span, index))
    return [index for _, index in sorted(chosen)]
