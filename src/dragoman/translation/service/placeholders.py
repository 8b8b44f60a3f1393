"""What is copied into every translation: marks of programs, and text without a letter.

Translation platforms put marks such as ``[X7X]`` and ``<x id="7"></x>`` where a placeholder was,
and look for them afterwards.
"""

from __future__ import annotations

import re

from dragoman.text.terminology import ProtectedKind, Terminology, missing
from dragoman.text.word_edges import Span

PROTECTED_KINDS: tuple[ProtectedKind, ...] = ("placeholders", "tags", "urls")
PLACEHOLDER = re.compile(r"\[X[0-9]+X\]")
"""What platforms put in place of something to be copied, and is in no set."""

_TERMS = Terminology(protect=PROTECTED_KINDS, patterns=[PLACEHOLDER.pattern])
_HINT = re.compile(r"[%{$<&@]|\[X|://|www\.", re.IGNORECASE)
"""What a text with anything to protect has: nearly all have nothing, and this is quick."""


def protected(text: str) -> list[Span]:
    """Where a normalised text has what must be in its translation, in order."""
    return _TERMS.protected(text) if _HINT.search(text) else []


def is_copied(text: str) -> bool:
    """Whether nothing in a normalised text can be translated: it has no letters of its own."""
    end = 0
    for start, stop in protected(text):
        if any(map(str.isalpha, text[end:start])):
            return False
        end = stop
    return not any(map(str.isalpha, text[end:]))


def is_intact(text: str, translation: str) -> bool:
    """Whether a translation has all that must be in it, as often as the normalised text has it."""
    if not _HINT.search(text):
        return True
    return not missing(_TERMS.constraints(text), translation)
