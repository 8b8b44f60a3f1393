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

_CODES = re.compile(
    # Versions; numbers in hexadecimal, as of commits and colours; UUIDs; SHA-256, CVE-2024-1;
    # utf8mb4, x86_64, IPv4 and mp3; names in programs and of products; options of commands.
    r"[vV]\d+(?:\.\d+)*(?:[-.+~]?[A-Za-z]+\d*)*|\d+(?:\.\d+){2,}(?:[-.+~]?[A-Za-z]+\d*)*"
    r"|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}|(?=[A-F]*\d)(?=\d*[A-F])[0-9A-F]{7,}"
    r"|0x[0-9A-Fa-f]+|#(?:[0-9A-Fa-f]{2}){3,4}|#(?=[A-Fa-f]*\d)[0-9A-Fa-f]{3}"
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|(?=[A-Z_-]*\d)[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)+"
    r"|[A-Za-z]+\d+[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*|[A-Za-z]+\d+_[A-Za-z0-9_]+"
    r"|(?=[A-Z]*[a-z])[A-Za-z]{1,3}\d+|[A-Za-z]\w*_\w+|[A-Z]?[a-z]+(?:[A-Z][a-z0-9]*)+"
    r"|--[a-z][\w-]*",
    re.ASCII,
)
"""Whole words that no language has, as they are in every one."""
_PUNCTUATION = " .,;:!?()[]\"'“”‘’…"

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
    """Whether a normalised text has nothing to translate: no letters but in codes to copy."""
    rest, end = "", 0
    for start, stop in protected(text):
        rest, end = f"{rest}{text[end:start]} ", stop
    rest += text[end:]
    if not any(map(str.isalpha, rest)):
        return True
    words = filter(None, (word.strip(_PUNCTUATION) for word in rest.split()))
    return not any(any(map(str.isalpha, word)) and not _CODES.fullmatch(word) for word in words)


def is_intact(text: str, translation: str) -> bool:
    """Whether a translation has all protected strings as often as the normalised text."""
    if not _HINT.search(text):
        return True
    return not missing(_TERMS.constraints(text), translation)
