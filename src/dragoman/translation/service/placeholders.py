"""What is copied into every translation: marks of programs, code, and text without a letter.

Translation platforms put marks such as ``[X7X]`` and ``<x id="7"></x>`` where a placeholder was,
and look for them afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from dragoman.text.terms.terminology import ProtectedKind, Terminology, missing
from dragoman.text.word_edges import Span

PROTECTED_KINDS: tuple[ProtectedKind, ...] = ("placeholders", "tags", "urls")
PLACEHOLDER = re.compile(r"\[X[0-9]+X\]")
"""What platforms put in place of something to be copied, and is in no set."""

_ROLE = r":[A-Za-z][\w+.-]*(?::[\w+.-]+){0,4}:`[^`]+`"  # of reStructuredText, such as :ref:`a`
_CODE = r"``[^`]+``(?!`)|(?<!`)`[^`\s]+`(?![`_])"
_PATH = (
    r"(?<![\w/.:~<])~?(?:/[\w.+-]+){2,}/?(?<!\.)|(?<![\w/.])\.{1,2}(?:/[\w.+-]+)+(?<!\.)"
    r"|(?<!\w)[A-Za-z]:\\[\w.+\\-]*\w"
)
PROTECTED_PATTERNS = (PLACEHOLDER.pattern, _ROLE, _CODE, _PATH)
"""Further expressions of what is copied: code and names of files."""

_TERMS = Terminology(protect=PROTECTED_KINDS, patterns=PROTECTED_PATTERNS)
_HINT = re.compile(r"[%{$<&@`]|\[[X\[%]|://|www\.|/\S+/|\./|:\\", re.IGNORECASE)
"""What a text with anything to protect has: nearly all have nothing, and this is quick."""
_STRAY = re.compile(r"[{<]|%[(\d{<|]|\$[{(\[]|#\{|\[[X\[]")
"""What no language writes; others, such as the sign of percent before a word, may be text."""


def protected(text: str) -> list[Span]:
    """Where a normalised text has what must be in its translation, in order."""
    return _TERMS.protected(text) if _HINT.search(text) else []


def is_protected(text: str) -> bool:
    """Whether all of a normalised text is one thing that must be in its translation."""
    return protected(text) == [(0, len(text))]


def strays(text: str, wanted: Collection[str]) -> list[Span]:
    """Where a translation has what only a program could have meant.

    Args:
        text: the translation.
        wanted: what its source has of that kind.
    """
    return [
        (start, stop)
        for start, stop in protected(text)
        if text[start:stop] in wanted or _is_stray(text[start:stop])
    ]


def _is_stray(text: str) -> bool:
    """Whether no language writes it; with spaces it may be words, as in ``<your name>``."""
    return _STRAY.match(text) is not None and not any(map(str.isspace, text))


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
