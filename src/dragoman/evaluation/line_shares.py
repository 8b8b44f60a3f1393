"""Shares of lines: exact matches with the reference, and degenerate translations.

Metrics of short input, where n-gram scores say little: whether a single word is right, and whether
a translation repeats itself or is far longer than its reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dragoman.core.repetition import loop
from dragoman.evaluation.kept_items import kept_items_metric

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

LineShare = Literal["exact_match", "degenerate"]

TOO_LONG = 3
"""How many times as long as its reference a translation is far too long."""
_SLACK = 10
"""Characters that any translation may have more."""
_LONG_WORD = 12
"""Characters of a word within which a part may loop."""


def line_share_metric(name: LineShare) -> Metric:
    """The percentage of translations that equal their reference, or that are degenerate.

    It has sacrebleu's interface.  Of several references, that which suits the translation best
    counts.
    """

    def count(reference: str, translation: str) -> tuple[int, int]:
        if name == "exact_match":
            return int(translation.strip() == reference.strip()), 1
        return int(is_degenerate(translation, reference)), 1

    if name == "exact_match":
        return kept_items_metric(name, count, {})
    return kept_items_metric(name, count, {"times": str(TOO_LONG)}, best=min)


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
