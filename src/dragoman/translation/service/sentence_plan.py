"""Where a text is divided into sentences, and what is between their translations.

Everything between two sentences is white space, which is kept.
"""

from __future__ import annotations

import re

from dragoman.text.language_codes import base_language
from dragoman.text.sentences import SplitMode, TextSpan, split_text

LONGEST = 1000
"""Characters of a sentence beyond which it is divided, however a text is to be split: models learn
from sentences, and the time of a search grows with the square of the length."""

_UNSPACED = frozenset({"ja", "km", "lo", "my", "th", "wuu", "yue", "zh"})
"""Languages written without spaces between sentences."""

_BREAKS = (
    re.compile(r"(?<![.!?。！？…])[.!?。！？…]+[\"'”’)\]]*\s+|[。！？]"),
    re.compile(r"[;:；：]\s+|[；：]"),
    re.compile(r"[,，、،]\s+|[，、]|(?<!\s)\s+[–—-]\s+"),
    re.compile(r"\s+"),
)
"""Where a sentence that is too long may be divided, the best places first."""


def planned(text: str, language: str, mode: SplitMode) -> list[TextSpan]:
    """The sentences of a text, none of them longer than ``LONGEST``.

    Args:
        text: any text.
        language: its language.
        mode: where it may be split.
    """
    found: list[TextSpan] = []
    for segment in split_text(text, language, mode):
        found += shortened(text, segment, LONGEST)
    return found


def shortened(text: str, segment: TextSpan, limit: int) -> list[TextSpan]:
    """A segment divided, as often as needed, into parts of at most ``limit`` characters."""
    done: list[TextSpan] = []
    waiting = [segment]
    while waiting:
        one = waiting.pop()
        if one.end - one.start <= limit:
            done.append(one)
        else:
            waiting += reversed(divided(text, one))
    return done


def divided(text: str, segment: TextSpan) -> list[TextSpan]:
    """Two parts of a segment with at least two characters, divided where it hurts least.

    That is the place nearest to its middle among those of the best kind that are in the middle
    half; in the middle of a word only if the segment has no other place.
    """
    start, end = segment
    middle, quarter = (start + end) // 2, (end - start) // 4
    places: list[int] = []
    for kind in _BREAKS:
        found = kind.finditer(text, start + quarter, end - quarter)
        places = [one.end() for one in found if one.end() < end]
        if places:
            break
    else:
        places = [one.end() for one in _BREAKS[-1].finditer(text, start + 1, end - 1)]
    at = min(places or [middle], key=lambda place: abs(place - middle))
    first = text[start:at].rstrip()
    rest = len(text[at:end]) - len(text[at:end].lstrip())
    return [TextSpan(start, start + len(first)), TextSpan(at + rest, end)]


def gap_between(before: str, source: str, target: str) -> str:
    """What separates two translations: the white space that separates their sources.

    Where the source language writes none between sentences and the target language does, one space.

    Args:
        before: the white space, perhaps none.
        source: the source language.
        target: the target language.
    """
    return before or (" " if _is_unspaced(source) and not _is_unspaced(target) else "")


def _is_unspaced(language: str) -> bool:
    return base_language(language) in _UNSPACED
