"""Phrases that a translation must contain: terms of glossaries, and copies from the source.

Named sets of patterns protect strings for programs: placeholders, tags and entities, addresses and
numbers.  Each place in a source becomes a :class:`LexicalConstraint`.
"""

from __future__ import annotations

import unicodedata
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
from dragoman.text.word_edges import UNSPACED, Span, is_whole, longest_apart

ProtectedKind = Literal["placeholders", "tags", "urls", "numbers"]

# A copied phrase ends, and a number may begin, where a text goes on without a space.
_UNSPACED = rf"{UNSPACED}\p{{Script=Hangul}}"
_WORD = rf"[\w--[{_UNSPACED}]]"
_NUMBER = r"[\p{N}--\p{Script=Han}]"  # without 〇
_CJK_SIGNS = r"\u3000-\u303f\uff00-\uffef“”‘’"
_NOT_IN_ADDRESS = rf"""\s<>"'(){_CJK_SIGNS}{_UNSPACED}"""
_IN_BRACKETS = rf"\([^{_NOT_IN_ADDRESS}]*\)"

_PATTERNS: dict[ProtectedKind, str] = {
    "placeholders": notation_pattern(is_string=False),
    "tags": r"</?[A-Za-z][^<>]*> | &(?:\#\d+|\#[xX][0-9a-fA-F]+|[A-Za-z]\w*);",
    "urls": rf"""
        (?:(?:https?|ftp|file)://|(?<!{_WORD})www\.)(?:[^{_NOT_IN_ADDRESS}]|{_IN_BRACKETS})*
            (?:[^{_NOT_IN_ADDRESS}.,;:!?\[\]{{}}]|{_IN_BRACKETS})
        | (?<![{_WORD}.+\-])[{_WORD}.+\-]+@{_WORD}[{_WORD}\-]*(?:\.{_WORD}[{_WORD}\-]*)+
    """,
    "numbers": rf"""
        (?<![[\p{{L}}--[{_UNSPACED}]]\p{{N}}]|\p{{N}}[.,]){_NUMBER}+(?:[.,]{_NUMBER}+)*
    """,
}
PROTECTED: tuple[ProtectedKind, ...] = get_args(ProtectedKind)

_SECONDS = 1.0  # for a pattern and a line
_GROUP = 3  # digits between two signs of a long number
_NO_MARKS = str.maketrans("", "", ".,")


@dataclass(frozen=True)
class LexicalConstraint:
    """A phrase that a translation must contain."""

    phrases: tuple[str, ...]
    """Alternatives, any of which suffices."""
    whole: bool = True
    """Whether it must begin and end at word boundaries."""
    copied: bool = False
    """Whether it is copied from the source, in any language."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.phrases[0]


class _Pattern:
    """Copies every match of an expression."""

    def __init__(self, name: str, expression: str, *, verbose: bool) -> None:
        self._name, self._is_number = name, name == "numbers"
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

    def spans(self, text: str) -> Iterator[tuple[int, int, LexicalConstraint]]:
        try:
            matches = [m.span() for m in self._regex.finditer(text, timeout=_SECONDS)]
        except TimeoutError as error:
            raise DataError(
                f"keep pattern {shown(self._name)}: takes over {_SECONDS:g} s for "
                f"{shown(text)}; simplify it"
            ) from error
        for start, end in matches:
            if end > start:
                found = text[start:end]
                phrases = _written(found) if self._is_number else (found,)
                # "5分" may be "5min", and "第5次" "5th".
                has_unit = self._is_number and text[end : end + 1].isalpha()
                whole = is_whole(text, start, end) and not has_unit
                yield start, end, LexicalConstraint(phrases, whole, copied=True)


class Terminology:
    """Finds the phrases in sources that constrain their translations.

    Args:
        glossaries: terms. Of two terms for the same place, the longer wins, then that of the
            earlier glossary.
        patterns: further regular expressions, whose matches are copied.
    """

    def __init__(
        self,
        glossaries: Sequence[Glossary] = (),
        protect: Iterable[ProtectedKind] = (),
        patterns: Iterable[str] = (),
    ) -> None:
        self.glossaries = tuple(glossaries)
        self._patterns = [_Pattern(one, one, verbose=False) for one in patterns]
        self._patterns += [_Pattern(one, _PATTERNS[one], verbose=True) for one in protect]

    def __bool__(self) -> bool:
        return bool(self.glossaries or self._patterns)

    def also(self, glossary: Glossary) -> Terminology:
        """A copy with one more glossary, which comes first."""
        more = Terminology((glossary, *self.glossaries))
        more._patterns = self._patterns
        return more

    def constraints(
        self, text: str, ignored: frozenset[str] = frozenset()
    ) -> tuple[LexicalConstraint, ...]:
        """The phrases that the translation of ``text`` must contain, in the order of the source.

        Args:
            ignored: tags in front that are instructions to the model.
        """
        text = _without_tags(normalize(text), ignored)
        found = [one for pattern in self._patterns for one in pattern.spans(text)]
        for glossary in self.glossaries:
            for term, start, end in glossary.candidates(text):
                constraint = LexicalConstraint(term.spellings(), copied=term.do_not_translate)
                found.append((start, end, constraint))
        return tuple(found[index][2] for index in longest_apart((s, e) for s, e, _ in found))

    def protected(self, text: str) -> list[Span]:
        """Positions in a normalised text that patterns copy, in order."""
        found = [one[:2] for pattern in self._patterns for one in pattern.spans(text)]
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


def _without_tags(text: str, tags: frozenset[str]) -> str:
    """``text`` with its tags in front replaced by spaces, so that positions do not change."""
    start = 0
    while (tag := TAG.match(text, start)) is not None and tag[0] in tags:
        start = tag.end()
        start += text.startswith(" ", start)
    return " " * start + text[start:]


def _written(number: str) -> tuple[str, ...]:
    """Spellings of a number in other languages, such as 1.234,5, 1 234,5 or 1234.5 for 1,234.5."""
    return tuple(dict.fromkeys([*_separated(number), *_separated(_in_ascii(number))]))


def _in_ascii(number: str) -> str:
    """A number of almost any script in ASCII digits, such as 10 for １０ and ١٠."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in number)


def _separated(number: str) -> list[str]:
    """A number with the separators of several languages between its digits."""
    swapped = number.translate({ord(","): ".", ord("."): ","})
    found = [number, swapped]
    whole = number.replace(",", ".").partition(".")[0]
    mark, rest = number[len(whole) :][:1], number[len(whole) + 1 :]
    if len(rest) > len(rest.translate(_NO_MARKS)) or (mark and _is_group(whole, rest)):
        for one in (number, swapped):  # the first mark separates thousands
            first = next(c for c in one if c in ",.")
            found += [one.replace(first, " "), one.replace(first, "")]
    elif len(whole) > _GROUP and whole.isdecimal() and whole[0] != "0":
        point = {",": ".", ".": ","}
        for between in ",. ":
            decimals = [point[between]] if between in point else [".", ","]
            parts = _in_groups(whole, between)
            found += [parts + one + rest for one in decimals] if mark else [parts]
    return found


def _is_group(whole: str, rest: str) -> bool:
    """Whether the digits after the only mark of a number may be its last three digits."""
    return len(rest) == _GROUP and 0 < len(whole) <= _GROUP and whole[0] != "0"


def _in_groups(digits: str, between: str) -> str:
    """Digits with a sign between thousands."""
    first = len(digits) % _GROUP or _GROUP
    groups = [digits[place : place + _GROUP] for place in range(first, len(digits), _GROUP)]
    return between.join([digits[:first], *groups])


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
