"""Phrases that a translation must contain: terms of glossaries, and copies from the source.

Named sets of patterns protect strings for programs: placeholders, tags and entities, addresses and
numbers.  Each place in a source becomes a :class:`LexicalConstraint`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import regex

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import shown
from dragoman.text.normalization import normalize
from dragoman.text.placeholder_notations import notation_pattern
from dragoman.text.tags import TAG
from dragoman.text.terms.glossary import Glossary, unmet
from dragoman.text.terms.number_forms import is_small, number_forms
from dragoman.text.word_edges import UNSPACED, Span, is_whole, longest_apart

ProtectedKind = Literal["placeholders", "tags", "urls", "numbers"]

# A copied phrase ends, and a number may begin, where a text goes on without a space.
_UNSPACED = rf"{UNSPACED}\p{{Script=Hangul}}"
_WORD = rf"[\w--[{_UNSPACED}]]"
_NUMBER = r"[\p{N}--\p{Script=Han}]"  # without 〇
_CJK_SIGNS = r"\u3000-\u303f\uff00-\uffef“”‘’"
_NOT_IN_ADDRESS = rf"""\s<>"'`„‚«»…(){_CJK_SIGNS}{_UNSPACED}"""
_IN_BRACKETS = rf"\([^{_NOT_IN_ADDRESS}]*\)"

_PATTERNS: dict[ProtectedKind, str] = {
    "placeholders": notation_pattern(is_string=False),
    "tags": r"</?[A-Za-z][^<>]*> | &(?:\#\d+|\#[xX][0-9a-fA-F]+|[A-Za-z]\w*);",
    "urls": rf"""
        (?:(?i:https?|ftp|file)://|(?<!{_WORD})(?i:www)\.)(?:[^{_NOT_IN_ADDRESS}]|{_IN_BRACKETS})*
            (?:[^{_NOT_IN_ADDRESS}.,;:!?\[\]{{}}]|{_IN_BRACKETS})
        | (?<![{_WORD}.+\-])[{_WORD}.+\-]+@{_WORD}[{_WORD}\-]*(?:\.{_WORD}[{_WORD}\-]*)+
    """,
    "numbers": rf"""
        (?<![[\p{{L}}--[{_UNSPACED}]]\p{{N}}]|\p{{N}}[.,]){_NUMBER}+(?:[.,]{_NUMBER}+)*
    """,
}
PROTECTED: tuple[ProtectedKind, ...] = get_args(ProtectedKind)
_SIGNS: dict[ProtectedKind, re.Pattern[str]] = {
    "placeholders": re.compile(r"[%{$]|<\?|\[\["),
    "tags": re.compile("[<&]"),
    "urls": re.compile(r"://|(?i:www)\.|@"),
    "numbers": re.compile(r"[\d²³¹¼½¾]|[^\x00-\xff]"),
}
"""Signs without which a text has nothing of a kind. Their search takes a hundredth of the time."""

WORDS_IN_BRACKETS = re.compile(r"</?[A-Za-z][^<>=/]*\s[^<>=/]*>")
"""What looks like a tag and may be words for people, as in ``<your name>``, but not ``<br />``."""

_SECONDS = 1.0  # for a pattern and a line


@dataclass(frozen=True)
class LexicalConstraint:
    """A phrase that a translation must contain."""

    phrases: tuple[str, ...]
    """Alternatives, any of which suffices."""
    whole: bool = True
    """Whether it must begin and end at word boundaries."""
    copied: bool = False
    """Whether it is copied from the source, in any language."""
    kind: ProtectedKind | None = None
    """The set that it belongs to; None for terms, and for patterns of the caller."""
    in_words: bool = False
    """Whether it may be written in words instead, as a small number may be."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.phrases[0]


class _Pattern:
    """Copies every match of an expression."""

    def __init__(
        self, name: str, expression: str, kind: ProtectedKind | None, *, verbose: bool
    ) -> None:
        self._name, self._kind = name, kind
        self._signs = None if kind is None else _SIGNS[kind]
        try:
            flags = regex.VERSION1 | (regex.VERBOSE if verbose else 0)
            self._regex = regex.compile(expression, flags)
        except regex.error as error:
            raise ConfigError(f"keep pattern {shown(expression)}: {error}; correct it") from error
        if self._regex.fullmatch("") is not None:
            raise ConfigError(
                f"keep pattern {shown(expression)}: it matches the empty text; demand at least one "
                "character"
            )

    def places(self, text: str) -> list[Span]:
        """Where the expression matches; an empty match counts for nothing."""
        if self._signs is not None and self._signs.search(text) is None:
            return []
        try:
            matches = [m.span() for m in self._regex.finditer(text, timeout=_SECONDS)]
            return [(start, end) for start, end in matches if end > start]
        except TimeoutError as error:
            raise DataError(
                f"keep pattern {shown(self._name)}: takes over {_SECONDS:g} s for "
                f"{shown(text)}; simplify it"
            ) from error

    def spans(self, text: str) -> Iterator[tuple[int, int, LexicalConstraint]]:
        """The places of the expression, and what a translation must contain for each."""
        is_number = self._kind == "numbers"
        for start, end in self.places(text):
            found = text[start:end]
            phrases = number_forms(found, text[end:]) if is_number else (found,)
            # "5分" may be "5min", and "第5次" "5th".
            has_unit = is_number and text[end : end + 1].isalpha()
            whole = is_whole(text, start, end) and not has_unit
            in_words = is_number and is_small(found)
            yield start, end, LexicalConstraint(phrases, whole, True, self._kind, in_words)


class Terminology:
    """Finds the phrases in sources that constrain their translations.

    Args:
        glossaries: terms. Of two terms for the same place, the longer wins, then that of the
            earlier glossary.
        patterns: further regular expressions, whose matches are copied.
        by_default: whether nobody asked for this.  What a search cannot demand is then only looked
            for in its outputs.
    """

    def __init__(
        self,
        glossaries: Sequence[Glossary] = (),
        protect: Iterable[ProtectedKind] = (),
        patterns: Iterable[str] = (),
        *,
        by_default: bool = False,
    ) -> None:
        self.glossaries, self.by_default = tuple(glossaries), by_default
        self._patterns = [_Pattern(one, one, None, verbose=False) for one in patterns]
        self._patterns += [_Pattern(one, _PATTERNS[one], one, verbose=True) for one in protect]
        self.protects: frozenset[ProtectedKind] = frozenset(protect)
        """The sets of which translations may have no more than their sources."""

    def __bool__(self) -> bool:
        return bool(self.glossaries or self._patterns)

    def also(self, glossary: Glossary) -> Terminology:
        """A copy with one more glossary, which comes first."""
        more = Terminology((glossary, *self.glossaries))
        more._patterns, more.protects = self._patterns, self.protects
        return more

    def constraints(
        self, text: str, ignored: frozenset[str] = frozenset()
    ) -> tuple[LexicalConstraint, ...]:
        """The phrases that the translation of ``text`` must contain, in the order of the source.

        Args:
            ignored: tags in front that are instructions to the model.
        """
        text = blanked(normalize(text), ignored)
        found = [one for pattern in self._patterns for one in pattern.spans(text)]
        for glossary in self.glossaries:
            for term, start, end in glossary.candidates(text):
                constraint = LexicalConstraint(term.spellings(), copied=term.do_not_translate)
                found.append((start, end, constraint))
        return tuple(found[index][2] for index in longest_apart((s, e) for s, e, _ in found))

    def protected(self, text: str) -> list[Span]:
        """Positions in a normalised text that patterns copy, in order."""
        found = [one for pattern in self._patterns for one in pattern.places(text)]
        return [found[index] for index in longest_apart(found)]


def missing(
    constraints: Sequence[LexicalConstraint], translation: str
) -> tuple[LexicalConstraint, ...]:
    """The constraints that a translation does not meet; an occurrence counts for one constraint."""
    lacking = unmet(
        [one.phrases for one in constraints],
        normalize(translation),
        [one.whole for one in constraints],
    )
    return tuple(constraints[index] for index in lacking)


def blanked(text: str, tags: frozenset[str]) -> str:
    """``text`` with its tags in front replaced by spaces, so that positions do not change."""
    start = 0
    while (tag := TAG.match(text, start)) is not None and tag[0] in tags:
        start = tag.end()
        start += text.startswith(" ", start)
    return " " * start + text[start:]


Count = Callable[[str, str], tuple[int, int]]
"""Counts the kept items and all items of a source and its translation."""


def counters(
    glossary: Path | str | None = None, languages: tuple[str, str] | None = None
) -> dict[str, Count]:
    """Functions that count terms, placeholders (with tags) and numbers, by these names.

    Repeated items must be translated as often.  Any translation of a term suffices, and any usual
    spelling of a number.

    Args:
        glossary: of the terms, which are not counted without it.
        languages: source and target language of the glossary, needed for TBX only.
    """
    found = {
        "placeholders": Terminology(protect=("placeholders", "tags")),
        "numbers": Terminology(protect=("numbers",)),
    }
    if glossary is not None:
        found["terms"] = Terminology([Glossary.read(glossary, languages)])
    return {name: partial(_kept, terms) for name, terms in found.items()}


def nothing_to_count(
    sources: Sequence[str], counts: Mapping[str, Count], metrics: Sequence[str]
) -> list[str]:
    """The ``metrics`` without any items in the sources, whose rate of 100 means nothing."""
    return [
        metric
        for metric in metrics
        if metric in counts and not any(counts[metric](source, "")[1] for source in sources)
    ]


def _kept(terms: Terminology, source: str, translation: str) -> tuple[int, int]:
    wanted = terms.constraints(source)
    return len(wanted) - len(missing(wanted, translation)), len(wanted)
