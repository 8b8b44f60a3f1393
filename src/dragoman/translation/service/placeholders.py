"""Text that is copied into translations: marks of programs, code, and text without letters.

Translation platforms put marks such as ``[X7X]`` and ``<x id="7"></x>`` in place of placeholders,
and look for them afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from dragoman.text.terms.terminology import ProtectedKind, Terminology, missing
from dragoman.text.word_edges import Span

PROTECTED_KINDS: tuple[ProtectedKind, ...] = ("placeholders", "tags", "urls")
PLACEHOLDER = re.compile(r"\[X[0-9]+X\]")
"""A platform's substitute for something to copy, which is in no set of patterns."""

_ROLE = r":[A-Za-z][\w+.-]*(?::[\w+.-]+){0,4}:`[^`]+`"  # of reStructuredText, such as :ref:`a`
_CODE = r"``[^`]+``(?!`)|(?<!`)`[^`\s]+`(?![`_])"
_PATH = (
    r"(?<![\w/.:~<])~?(?:/[\w.+-]+){2,}/?(?<!\.)|(?<![\w/.])\.{1,2}(?:/[\w.+-]+)+(?<!\.)"
    r"|(?<!\w)[A-Za-z]:\\[\w.+\\-]*\w"
)
PROTECTED_PATTERNS = (PLACEHOLDER.pattern, _ROLE, _CODE, _PATH)
"""Further patterns of copied text: code and names of files."""

_TERMS = Terminology(protect=PROTECTED_KINDS, patterns=PROTECTED_PATTERNS)
_HINT = re.compile(r"[%{$<&@`]|\[[X\[%]|://|www\.|/\S+/|\./|:\\", re.IGNORECASE)
"""A fast test for texts that may have something to protect; nearly all texts have nothing."""
_STRAY = re.compile(r"[{<]|%[(\d{<|]|\$[{(\[]|#\{|\[[X\[]")
"""Symbols that no language writes; others, such as a percent sign before a word, may be text."""


def protected(text: str) -> list[Span]:
    """Places in a normalised text that its translation must contain, in order."""
    return _TERMS.protected(text) if _HINT.search(text) else []


def is_protected(text: str) -> bool:
    """Whether a normalised text consists of a single protected string."""
    return protected(text) == [(0, len(text))]


def strays(text: str, wanted: Collection[str]) -> list[Span]:
    """Places in a translation that only a program could have meant.

    ``wanted`` has the protected strings of its source.
    """
    return [
        (start, stop)
        for start, stop in protected(text)
        if text[start:stop] in wanted or _is_stray(text[start:stop])
    ]


def _is_stray(text: str) -> bool:
    """Whether no language writes ``text``; with spaces it may be words, as in ``<your name>``."""
    return _STRAY.match(text) is not None and not any(map(str.isspace, text))


def is_copied(text: str) -> bool:
    """Whether a normalised text has no letters outside protected strings to translate."""
    end = 0
    for start, stop in protected(text):
        if any(map(str.isalpha, text[end:start])):
            return False
        end = stop
    return not any(map(str.isalpha, text[end:]))


def is_intact(text: str, translation: str) -> bool:
    """Whether a translation has all protected strings as often as the normalised text."""
    if not _HINT.search(text):
        return True
    return not missing(_TERMS.constraints(text), translation)
