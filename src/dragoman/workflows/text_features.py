"""How much of a text is for programs or is short: what ``init`` chooses by, and ``doctor`` tells.

Strings of programs (placeholders, tags, entities, addresses) and numbers are counted by pairs, with
those whose two sides have the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import regex

from dragoman.text.tokens import words_of
from dragoman.translation.checking.protected_strings import (
    ProtectedString,
    protected_findings,
    protected_strings,
)

StringKind = Literal["placeholders", "tags", "entities", "addresses", "numbers"]
STRING_KINDS: tuple[StringKind, ...] = get_args(StringKind)
LineKind = Literal["short", "capitals", "codes"]
"""Lines of at most three words, in capitals, and of a number or code alone."""

FEW_WRONG = 0.02
"""Share of pairs with other placeholders on the two sides that people leave in good text."""
EXAMINED_PAIRS = 10_000
"""Pairs of a text that are examined: a second or two."""
SHORT = 3
"""Most words of a short line."""

_CASED = regex.compile(r"\p{Lu}|\p{Ll}")
_SMALL = regex.compile(r"\p{Ll}")
_LETTER = regex.compile(r"\p{L}")
_DIGIT = regex.compile(r"\p{Nd}")


@dataclass
class KindCount:
    """Pairs with strings of one kind."""

    pairs: int = 0
    """Pairs whose source has such strings."""
    agreeing: int = 0
    """Those of them whose translation has the same, as often."""


@dataclass
class TextFeatures:
    """Counts over the pairs of a text."""

    pairs: int = 0
    strings: dict[StringKind, KindCount] = field(default_factory=dict)
    """Kinds that some source has."""
    lines: dict[LineKind, int] = field(default_factory=lambda: dict.fromkeys(get_args(LineKind), 0))
    for_programs: int = 0
    """Pairs whose source has placeholders, tags, entities or addresses."""
    differing: int = 0
    """Those of them whose translation has others."""
    first_differing: str | None = None
    """The first one of these, in words."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str, str]]) -> TextFeatures:
        """Count pairs, each a normalised source and target, and the name of its place."""
        features = cls()
        for source, target, place in pairs:
            features._add(source, target, place)
        return features

    def _add(self, source: str, target: str, place: str) -> None:
        self.pairs += 1
        tests = {"short": is_short, "capitals": is_capital, "codes": is_number}
        for kind in get_args(LineKind):
            self.lines[kind] += tests[kind](source)
        kinds = {kind_of(one) for one in protected_strings(source)}
        if not kinds:
            return
        findings = list(protected_findings(source, target))
        wrong = {_kind(one.kind, one.text) for one in findings}
        for kind in kinds:
            count = self.strings.setdefault(kind, KindCount())
            count.pairs += 1
            count.agreeing += kind not in wrong
        if kinds == {"numbers"}:
            return
        self.for_programs += 1
        if others := [one for one in findings if one.kind != "numbers"]:
            self.differing += 1
            self.first_differing = self.first_differing or f"{place}: {others[0].message}"

    @property
    def sides_agree(self) -> bool:
        """Whether translations have the placeholders, tags and addresses of their sources."""
        return self.differing <= FEW_WRONG * self.for_programs

    @property
    def counted(self) -> str:
        """The kinds of strings with their numbers, in words; "" if there are none."""
        return ", ".join(
            f"{kind} in {self.strings[kind].pairs:,} (the same in "
            f"{self.strings[kind].agreeing:,} translations)"
            for kind in STRING_KINDS
            if kind in self.strings
        )

    @property
    def lines_counted(self) -> str:
        """The kinds of lines with their numbers, in words."""
        return (
            f"{self.lines['short']:,} of at most {SHORT} words, {self.lines['capitals']:,} in "
            f"capitals, {self.lines['codes']:,} of a number or code alone"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "pairs": self.pairs,
            "strings": {
                kind: {"pairs": one.pairs, "agreeing": one.agreeing}
                for kind, one in self.strings.items()
            },
            "lines": self.lines,
            "for_programs": self.for_programs,
            "differing": self.differing,
        }


def kind_of(one: ProtectedString) -> StringKind:
    """The kind of a protected string; entities are told from tags."""
    return _kind(one.kind, one.text)


def _kind(kind: str, text: str) -> StringKind:
    if kind == "tags" and text.startswith("&"):
        return "entities"
    return "addresses" if kind == "urls" else kind  # type: ignore[return-value]


def is_short(line: str) -> bool:
    """Whether a line has a few words at most, and a letter."""
    return sum(word.is_word for word in words_of(line)) <= SHORT and bool(_LETTER.search(line))


def has_case(line: str) -> bool:
    """Whether a line has letters that are small or capital."""
    return bool(_CASED.search(line))


def is_capital(line: str) -> bool:
    """Whether a line is in capitals."""
    return has_case(line) and not _SMALL.search(line)


def is_number(line: str) -> bool:
    """Whether a line is one number or code."""
    return bool(_DIGIT.search(line)) and not _SMALL.search(line) and len(line.split()) == 1
