"""Strings for programs, addresses and numbers that a translation lost or invented."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import regex

from dragoman.core.wording import shown
from dragoman.text.terms.glossary import unmet
from dragoman.text.terms.terminology import (
    PROTECTED,
    WORDS_IN_BRACKETS,
    ProtectedKind,
    Terminology,
)
from dragoman.text.word_edges import Span, longest_apart
from dragoman.translation.checking.findings import CheckFinding, FindingKind

_PATTERNS: Mapping[ProtectedKind, Terminology] = {
    kind: Terminology(protect=(kind,)) for kind in PROTECTED
}
_SYMBOL = regex.compile(r"[\p{N}%{}$<>&@:\[\]~]|www\.")
"""A fast test for texts that may have something to protect."""


@dataclass(frozen=True)
class ProtectedString:
    """A protected string, and what counts as the same in another text."""

    kind: ProtectedKind
    span: Span
    text: str
    spellings: tuple[str, ...]
    whole: bool


def protected_findings(source: str, translation: str) -> Iterator[CheckFinding]:
    """Protected strings of one normalised text that the other lacks, or has less often."""
    here, there = protected_strings(source), protected_strings(translation)
    for one in _lacking(here, translation):
        yield CheckFinding(one.kind, f"{shown(one.text)} is missing", one.span, True, one.text)
    # A number of the translation may be part of a word of the source, as in "2nd" and "3D".
    apart = [replace(one, whole=one.whole and one.kind != "numbers") for one in there]
    for one in _lacking(apart, source):
        message = f"{shown(one.text)} is not in the source"
        yield CheckFinding(one.kind, message, one.span, False, one.text)


def protected_kinds(text: str) -> set[FindingKind]:
    """The kinds of protected strings in a normalised text."""
    return {one.kind for one in protected_strings(text)}


def without_protected(text: str) -> str:
    """A normalised text with a space in place of each string for programs, and each address."""
    rest, end = "", 0
    for one in protected_strings(text):
        if one.kind != "numbers":
            rest, end = f"{rest}{text[end : one.span[0]]} ", one.span[1]
    return rest + text[end:]


def protected_strings(text: str) -> list[ProtectedString]:
    """The protected strings of a normalised text, in order; a number in an address is no number."""
    if not _SYMBOL.search(text):
        return []
    found = [
        ProtectedString(kind, span, text[slice(*span)], one.phrases, one.whole)
        for kind, patterns in _PATTERNS.items()
        for span, one in zip(patterns.protected(text), patterns.constraints(text), strict=True)
    ]
    chosen = [found[at] for at in longest_apart(one.span for one in found)]
    return [one for one in chosen if not WORDS_IN_BRACKETS.fullmatch(one.text)]


def _lacking(wanted: Sequence[ProtectedString], text: str) -> list[ProtectedString]:
    places = unmet([one.spellings for one in wanted], text, [one.whole for one in wanted])
    return [wanted[place] for place in places]
