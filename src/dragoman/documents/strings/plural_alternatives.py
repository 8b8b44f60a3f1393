"""Alternatives of a plural in one string, such as ``one apple | {count} apples``.

Each is translated by itself, with a number that it is for, and separators and ranges stay.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from typing_extensions import override

from dragoman.documents.strings.plural_rules import catalogue_values, has_count
from dragoman.documents.strings.string_placeholders import TAG, filled_in, placeholder_names
from dragoman.documents.strings.string_syntax import StringSyntax
from dragoman.documents.strings.string_values import PlainValue, StringValue, with_translations
from dragoman.text.language_codes import base_language, spelling

_LONG = re.compile(r"\s*\|\|\|\|\s*")  # Polyglot
_SHORT = re.compile(r"\s*(?<!\|)(?:\||\x03)(?!\|)\s*")  # vue-i18n, Laravel, Symfony; Drupal
_RANGE = re.compile(
    r"\s*(?:\{\s*(?P<number>-?\d+)\s*(?:,\s*-?\d+\s*)*\}"
    r"|(?P<open>[\[\]])\s*(?P<low>-?Inf|\*|-?\d+)\s*,\s*(?P<high>\+?Inf|\*|-?\d+)\s*(?P<close>[\[\]])"
    r"|\w+:(?=\s))\s*"
)
"""In front of an alternative: ``{0}``, ``[1,19]``, ``]1,Inf]``, ``one:`` (Symfony 4, Laravel)."""
_SAMPLES = (3, 5, 2, 1, 0, 11, 20, 50, 100, 1000)
_MANY = 5
_MOST = 12
"""Alternatives.  A string with more is a table or a list."""

_RULES: Mapping[str, tuple[int, str]] = {
    "one form": (1, "0"),
    "two forms": (2, "n != 1"),
    "zero as one": (2, "n > 1"),
    "Icelandic": (2, "n%10 != 1 || n%100 == 11"),
    "Macedonian": (2, "n%10 == 1 ? 0 : 1"),
    "East Slavic": (
        3,
        "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2",
    ),
    "Czech": (3, "n==1 ? 0 : n>=2 && n<=4 ? 1 : 2"),
    "Irish": (3, "n==1 ? 0 : n==2 ? 1 : 2"),
    "Lithuanian": (3, "n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2"),
    "Latvian": (3, "n==0 ? 0 : n%10==1 && n%100!=11 ? 1 : 2"),
    "Polish": (3, "n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2"),
    "Romanian": (3, "n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2"),
    "Slovenian": (4, "n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3"),
    "Maltese": (4, "n==1 ? 0 : n==0 || (n%100>1 && n%100<11) ? 1 : n%100>10 && n%100<20 ? 2 : 3"),
    "Welsh": (4, "n==1 ? 0 : n==2 ? 1 : n==8 || n==11 ? 2 : 3"),
    "Arabic": (
        6,
        "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5",
    ),
}
"""How many forms there are, and the index of that of a number."""
_LARAVEL = {
    "one form": "az bo dz id ja jv ka km kn ko ms th tr vi zh",
    "zero as one": "am bh fil fr gun hi hy ln mg nso pt-BR ti wa xbr",
    "East Slavic": "be bs hr ru sr uk",
    "Czech": "cs sk",
    "Irish": "ga",
    "Lithuanian": "lt",
    "Slovenian": "sl",
    "Macedonian": "mk",
    "Maltese": "mt",
    "Latvian": "lv",
    "Polish": "pl",
    "Welsh": "cy",
    "Romanian": "ro",
    "Arabic": "ar",
}
"""Laravel, MessageSelector::getPluralIndex; Symfony 4, PluralizationRules."""
_POLYGLOT = {
    "one form": "id ja ko lo ms th zh",
    "zero as one": "fr tl pt-BR",
    "East Slavic": "bs hr ru sr uk",
    "Czech": "cs sk",
    "Lithuanian": "lt",
    "Polish": "pl",
    "Icelandic": "is mk",
    "Slovenian": "sl",
    "Romanian": "ro",
    "Arabic": "ar",
}
"""Polyglot.js 2, pluralTypes and pluralTypeToLanguages."""

_Library = Literal["polyglot", "laravel", "vue"]


class _Alternative(NamedTuple):
    """One of the alternatives, as it is written."""

    range: str
    """With white space.  Empty if it has none."""
    text: str
    between: str
    """The separator behind it."""


def read_alternatives(source: str, language: str, syntax: StringSyntax) -> AlternativesValue | None:
    """A string as alternatives, or None if it is one text."""
    if "|" not in source and "\x03" not in source:
        return None
    is_long = _LONG.search(source) is not None
    alternatives = _split(source, _LONG if is_long else _SHORT, syntax)
    if not 1 < len(alternatives) <= _MOST or not all(map(_is_balanced, alternatives)):
        return None
    return AlternativesValue(source, alternatives, language, syntax, is_long=is_long)


def read_escaped_alternatives(raw: str, language: str, syntax: StringSyntax) -> StringValue | None:
    """Text of XML without tags, as it is written, as alternatives, or None if it is one text."""
    alternatives = read_alternatives(html.unescape(raw), language, syntax)
    return None if alternatives is None else _EscapedValue(raw, alternatives)


class _EscapedValue(StringValue):
    """A string that is written as text of XML is."""

    def __init__(self, raw: str, value: StringValue) -> None:
        self.source, self.texts, self._value = raw, value.texts, value

    @override
    def joined(self, translations: Sequence[str]) -> str:
        joined = self._value.joined(translations)
        return self.source if joined == self._value.source else html.escape(joined, quote=False)


class AlternativesValue(StringValue):
    """A string of alternatives, which are separated as Polyglot does if it is long."""

    def __init__(
        self,
        source: str,
        alternatives: Sequence[_Alternative],
        language: str,
        syntax: StringSyntax,
        *,
        is_long: bool,
    ) -> None:
        self.source = source
        library = _library(alternatives, syntax, is_long=is_long)
        forms = _in_forms(alternatives, library, language, syntax)
        if forms is None:
            numbers = _numbers(alternatives, syntax)
            self._values: Sequence[StringValue] = [
                PlainValue(one.text, number, syntax)
                for one, number in zip(alternatives, numbers, strict=True)
            ]
            self._around = [
                (alternative.range, alternative.between) for alternative in alternatives
            ]
        else:
            self._values = forms
            between = [alternatives[0].between] * (len(forms) - 1)
            self._around = [("", one) for one in (*between, "")]
        self.texts = [text for value in self._values for text in value.texts]

    @override
    def joined(self, translations: Sequence[str]) -> str:
        # If an alternative cannot be written, the string stays as it is.
        written: list[str] = []
        pairs = with_translations(self._values, translations)
        for (value, mine), (condition, between) in zip(pairs, self._around, strict=True):
            joined = value.joined(mine)
            if value.is_refused(mine, joined) or joined.count("|") != value.source.count("|"):
                return self.source
            written += [condition, joined, between]
        return "".join(written)


def _split(source: str, separator: re.Pattern[str], syntax: StringSyntax) -> list[_Alternative]:
    """The alternatives of a string, without separators within placeholders or tags."""
    taken = sorted([*filled_in(source, syntax), *(tag.span() for tag in TAG.finditer(source))])
    ends = list(accumulate((stop for _, stop in taken), max))  # of all spans up to each
    alternatives: list[_Alternative] = []
    place = 0
    for match in separator.finditer(source):
        sign = match.start() + len(match[0]) - len(match[0].lstrip())
        before = bisect_right(taken, sign, key=lambda span: span[0])
        if not before or ends[before - 1] <= sign:
            alternatives.append(_alternative(source[place : match.start()], match[0]))
            place = match.end()
    return [*alternatives, _alternative(source[place:], "")]


def _alternative(raw: str, between: str) -> _Alternative:
    condition = _RANGE.match(raw)
    end = condition.end() if condition else 0
    return _Alternative(raw[:end], raw[end:], between)


def _is_balanced(one: _Alternative) -> bool:
    """Whether no tag or bracket begins in an alternative and ends in another."""
    if any(one.text.count(begin) != one.text.count(end) for begin, end in ("()", "[]", "{}")):
        return False
    names = [(tag["name"], tag["end"]) for tag in TAG.finditer(one.text) if not tag["empty"]]
    return all((name, "") in names for name, end in names if end)


def _library(
    alternatives: Sequence[_Alternative], syntax: StringSyntax, *, is_long: bool
) -> _Library:
    """Whose rule tells which number has which alternative."""
    if is_long:
        return "polyglot"
    names = [
        text for alternative in alternatives for text in placeholder_names(alternative.text, syntax)
    ]
    is_named = any(name.startswith((":", "%", "{{")) for name in names)
    return "laravel" if is_named and _has_count(alternatives, syntax) else "vue"


def _has_count(alternatives: Sequence[_Alternative], syntax: StringSyntax) -> bool:
    """Whether one of some alternatives writes the number that decides between them.

    With ranges, or if all have the same placeholder and no space parts them, it need not be called
    a number, as in "{{ limit }} letter|{{ limit }} letters".
    """
    first, *others = (
        set(placeholder_names(alternative.text, syntax)) for alternative in alternatives
    )
    is_tight = alternatives[0].between == "|" and bool(first.intersection(*others))
    guesses = is_tight or any(one.range for one in alternatives)
    return any(has_count(one.text, syntax, guesses=guesses) for one in alternatives)


def _in_forms(
    alternatives: Sequence[_Alternative], library: _Library, language: str, syntax: StringSyntax
) -> list[StringValue] | None:
    """The forms of the target language, or None if the library has no rules for it."""
    if library == "vue" or len(alternatives) != 2 or any(one.range for one in alternatives):
        return None
    singular, plural = (alternative.text for alternative in alternatives)
    rule = _rule(language, _LARAVEL if library == "laravel" else _POLYGLOT)
    return catalogue_values(singular, plural, rule, syntax)


def _rule(language: str, languages: Mapping[str, str]) -> tuple[int, str]:
    for code in (spelling(language), base_language(language)):
        for name, codes in languages.items():
            if code in map(spelling, codes.split()):
                return _RULES[name]
    return _RULES["two forms"]


def _numbers(alternatives: Sequence[_Alternative], syntax: StringSyntax) -> Sequence[int | None]:
    """A number for each: of its range, or as vue-i18n counts, or None if no text writes it."""
    count = len(alternatives)
    if not _has_count(alternatives, syntax):
        return [None] * count
    usual = [1, _MANY] if count == 2 else [*range(count - 1), _MANY]
    return [
        at if (number := _number_of(one.range)) is None else number
        for at, one in zip(usual, alternatives, strict=True)
    ]


def _number_of(condition: str) -> int | None:
    """A number in a range, or None if the text is not a range."""
    found = _RANGE.fullmatch(condition) if condition else None
    if found is None or (found["number"] is None and found["low"] is None):
        return None
    if found["number"] is not None:
        return abs(int(found["number"]))
    low = None if found["low"][-1] in "f*" else int(found["low"])
    high = None if found["high"][-1] in "f*" else int(found["high"])
    if low is not None and found["open"] == "]":
        low += 1
    if high is not None and found["close"] == "[":
        high -= 1
    fitting = [
        sample
        for sample in _SAMPLES
        if (low is None or low <= sample) and (high is None or sample <= high)
    ]
    return next(iter(fitting), low if low is not None else high)
