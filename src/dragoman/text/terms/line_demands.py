"""Demands on the translation of a line: phrases that it must contain, and nothing invented.

A placeholder, tag or address is **invented** if the translation has it more often than the source,
and so is half of one, such as a single brace.  Numbers are never invented: languages count things
that others name.

A number is **lost** if no usual spelling of it is in the translation.  Small numbers may be words,
and the thousands of long ones, so these are lost only if the translation has another number in
their place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from dragoman.text.normalization import normalize
from dragoman.text.terms.number_forms import is_counted_in_words
from dragoman.text.terms.terminology import (
    WORDS_IN_BRACKETS,
    LexicalConstraint,
    ProtectedKind,
    Terminology,
    missing,
)
from dragoman.text.word_edges import Span

USUAL: tuple[ProtectedKind, ...] = ("placeholders", "tags", "urls", "numbers")
"""The sets that are protected by default."""
_CODES: frozenset[ProtectedKind] = frozenset({"placeholders", "tags", "urls"})
"""Sets of strings that only programs read, so that a translation has no more of them."""
_HALVES: dict[ProtectedKind, str] = {"placeholders": r"[{}]|%\(", "tags": "[<>]"}
"""Signs of each set that no language writes by themselves."""


@dataclass(frozen=True)
class LineDemands:
    """The demands on the translations of a line."""

    phrases: tuple[LexicalConstraint, ...] = ()
    """What a translation must contain."""
    text: str = ""
    """The normalised text of the line, and what its translation is to begin with."""
    protects: frozenset[ProtectedKind] = frozenset()
    """The sets of which a translation may have no more than the text."""
    is_copied: bool = False
    """Whether the text has nothing to translate, so that it is its own translation."""

    def __bool__(self) -> bool:
        return bool(self.phrases or self.codes)

    @property
    def codes(self) -> frozenset[ProtectedKind]:
        """The sets of which nothing may be invented."""
        return self.protects & _CODES

    def copied(self) -> LineDemands:
        """The demands that hold in any language."""
        return replace(self, phrases=tuple(one for one in self.phrases if one.copied))

    def missing(self, translation: str) -> tuple[LexicalConstraint, ...]:
        """The phrases that a translation lacks; an occurrence counts for one phrase."""
        if not self.phrases:
            return ()
        lacking = missing(self.phrases, translation)
        if not any(one.kind == "numbers" for one in lacking):
            return lacking
        replaced = self._has_another_number(normalize(translation))
        return tuple(one for one in lacking if not _is_excused(one, translation, replaced))

    def invented(self, translation: str) -> tuple[str, ...]:
        """What only programs read, and the source has less often or not at all."""
        if not self.codes or _signs(self.codes).search(translation) is None:
            return ()
        text = normalize(translation)
        places = _terminology(self.codes).protected(text)
        counts = Counter(text[start:stop] for start, stop in places)
        found = [
            one
            for one, count in counts.items()
            if count > self._allowed(one) and not WORDS_IN_BRACKETS.fullmatch(one)
        ]
        known = set(_halves(self.codes).findall(self.plain))
        rest = _without(text, places)
        found += [one for one in _halves(self.codes).findall(rest) if one not in known]
        return tuple(dict.fromkeys(found))

    @property
    def plain(self) -> str:
        """The text without the strings of programs in it."""
        return _without(self.text, _terminology(self.codes).protected(self.text))

    def _allowed(self, code: str) -> int:
        """How often a translation may have a string of a program."""
        named = sum(any(code in phrase for phrase in one.phrases) for one in self.phrases)
        return max(self.text.count(code), named)

    def _has_another_number(self, translation: str) -> bool:
        """Whether a translation has a number that is none of the text's."""
        known = {phrase for one in self.phrases if one.kind == "numbers" for phrase in one.phrases}
        places = _terminology(frozenset({"numbers"})).protected(translation)
        return any(translation[start:stop] not in known for start, stop in places)


def _is_excused(one: LexicalConstraint, translation: str, replaced: bool) -> bool:
    """Whether a number may be there in words."""
    if one.kind != "numbers":
        return False
    if is_counted_in_words(one.name, translation):
        return True
    return one.in_words and not replaced


def _without(text: str, places: Sequence[Span]) -> str:
    parts, end = [], 0
    for start, stop in places:
        parts.append(text[end:start])
        end = stop
    return " ".join([*parts, text[end:]])


@cache
def _terminology(kinds: frozenset[ProtectedKind]) -> Terminology:
    return Terminology(protect=sorted(kinds))


@cache
def _halves(kinds: frozenset[ProtectedKind]) -> re.Pattern[str]:
    return re.compile("|".join(_HALVES[one] for one in sorted(kinds) if one in _HALVES) or r"(?!)")


@cache
def _signs(kinds: frozenset[ProtectedKind]) -> re.Pattern[str]:
    """Signs without which a text has nothing of these sets, nor half of it."""
    signs = {"placeholders": r"[%{}$]|\[\[|<\?", "tags": "[<>&]", "urls": r"://|(?i:www)\.|@"}
    return re.compile("|".join(signs[one] for one in sorted(kinds)))
