"""Shares of lines: exact matches with the reference, and degenerate translations.

Metrics of short input, where n-gram scores say little: whether a single word is right, and whether
a translation repeats itself or is far longer than its reference.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dragoman.core.repetition import loop
from dragoman.evaluation.kept_items import CountedItems

TOO_LONG = 3
"""How many times as long as its reference a translation is far too long."""
_SLACK = 10
"""Characters that any translation may have more."""
_LONG_WORD = 12
"""Characters of a word within which a part may loop."""


class ExactMatch(CountedItems):
    """The percentage of translations that equal their reference."""

    name, title, label = "exact_match", "exact_match", "exact match, %"

    @override
    def count(self, reference: str, translation: str) -> tuple[int, int]:
        return int(translation.strip() == reference.strip()), 1


class Degenerate(CountedItems):
    """The percentage of translations that repeat themselves or are far too long."""

    name, title, label = "degenerate", "degenerate", "degenerate, %"
    higher_is_better = False

    @override
    def count(self, reference: str, translation: str) -> tuple[int, int]:
        return int(is_degenerate(translation, reference)), 1

    @override
    def details(self, references: int) -> dict[str, Any]:
        return super().details(references) | {"times": str(TOO_LONG)}


def is_degenerate(translation: str, reference: str) -> bool:
    """Whether a translation repeats itself as its reference does not, or is far longer.

    Repetition is of words, or of characters within a long word: most of a script without spaces.
    """
    if len(translation) > TOO_LONG * len(reference) + _SLACK:
        return True
    repeats = _repeats(translation)
    return bool(repeats) and repeats > _repeats(reference)


def _repeats(text: str) -> int:
    """How often the part of a text that loops most follows itself; 0 if none loops."""
    words = text.split()
    return max([loop(words), *(loop(word) for word in words if len(word) > _LONG_WORD)], default=0)
