"""The writing systems of a text, by the script property of Unicode (UAX #24)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import regex

# The most commonly needed first; everything else is "other".
SCRIPTS = (
    *("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Han", "Hiragana", "Katakana", "Hangul"),
    *("Thai", "Devanagari", "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati"),
    *("Gurmukhi", "Oriya", "Sinhala", "Lao", "Khmer", "Myanmar", "Tibetan", "Georgian"),
    *("Armenian", "Ethiopic", "Mongolian", "Thaana", "Cherokee", "Canadian_Aboriginal"),
)
_LETTER = regex.compile(r"(?V1)[\p{L}\p{M}--[\p{Script=Common}\p{Script=Inherited}]]")
_SCRIPT = regex.compile("|".join(rf"(?P<{name}>\p{{Script={name}}})" for name in SCRIPTS))
_OTHER = "other"


def script_shares(characters: Mapping[str, int]) -> dict[str, float]:
    """The share of each script among the letters of a text, given by its characters' counts.

    The largest comes first. It is empty without letters.
    """
    counts: Counter[str] = Counter()
    for character, count in characters.items():
        if _LETTER.fullmatch(character):
            counts[_script(character)] += count
    total = sum(counts.values())
    return {script: count / total for script, count in counts.most_common()}


def _script(letter: str) -> str:
    found = _SCRIPT.match(letter)
    return found.lastgroup or _OTHER if found else _OTHER


def overlap(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Overlap of the scripts of two texts, from 0 (none in common) to 1 (the same)."""
    return sum(min(share, other.get(script, 0.0)) for script, share in one.items())
