"""Placeholders of strings: where programs fill something in, and whether a translation keeps it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Literal

from dragoman.documents.marked_document import MOST_MARKS
from dragoman.text.terminology import Terminology
from dragoman.text.word_edges import Span
from dragoman.translation.service.placeholders import PROTECTED_PATTERNS

Numbering = Literal["none", "printf", "braces"]
"""How placeholders in another order are written: as in the source; ``%2$s``; ``{1}``."""
# What programs fill in, besides what the service itself protects.
_PATTERNS = (
    *PROTECTED_PATTERNS,
    r"%%|%#@\w+@|%\{\w+\}|%<\w+>[-+0 #]*\d*(?:\.\d+)?[a-z]|%L?\d{1,2}(?![\d%$])|%n\b",
    r"\$t\([^()]*\)|\$\d+(?!\d|[.,]\d)|\$[A-Za-z0-9_@]+\$",
    r"\{\s*[\w.-]+\s*(?:,[^{}]*)?\}|\{\{\{[^{}]*\}\}\}",  # ICU arguments; Handlebars
    r"@:(?:\([^()]*\)|[\w.]+)",  # a message in another (vue-i18n)
    r"&(?!(?:amp|lt|gt);)(?:\#\d+|\#[xX][0-9a-fA-F]+|[A-Za-z]\w*);",
)
_FILLED_IN = Terminology(protect=("placeholders", "urls"), patterns=_PATTERNS)
_HINT = re.compile(r"[%{$@`&:\[/]|www\.", re.IGNORECASE)
TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*|\d+)(?:\s[^<>]*?)?(?P<empty>/?)>")
"""A tag in a string."""
_POSITIONAL = re.compile(r"%[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[@diouxXeEfFgGcs]|\{\}")
_NUMBERED = re.compile(r"%\d+\$")
_INTEGER = re.compile(r"%(?:\d+\$|\(\w+\))?[-+0#]*\d*(?:hh?|ll?|[Lqjzt])?[diu]")
# Of printf and Python, from left to right, as programs read them.
_CONVERSION = re.compile(
    r"%%|%(?:\d+\$|\(\w+\))?[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[@diouxXeEfFgGcs]"
)
_PERCENT = "%%"  # what such programs print as one sign
_AMOUNT = re.compile(r"[%$](\d+)")
_NUMBER_BEFORE = re.compile(r"(\d+)\s?\Z")
_LONGEST_NUMBER = 20
_COUNT = re.compile(r"[%{(<\s]*(?:count|n|num|number|total)[})>\s]*(?:,\s*number\s*\}|[ds])?|%n")


def filled_in(text: str) -> list[Span]:
    """Where a string has what a program fills in or reads, tags excepted, in order."""
    return _FILLED_IN.protected(text) if _HINT.search(text) else []


def count_span(text: str, spans: Sequence[Span]) -> Span | None:
    """Which placeholder of a string is the count that decides on its plural form."""
    named = [one for one in spans if _COUNT.fullmatch(text[slice(*one)])]
    integers = [one for one in spans if _INTEGER.fullmatch(text[slice(*one)])]
    found = named or integers or [one for one in spans if text[one[0]] in "%{"]
    return found[0] if len(found) == 1 or named or integers else None


def in_order(source: str, translation: str, numbering: Numbering) -> str:
    """A translation whose placeholders without number or name get what they had in the source."""
    wanted = _positional(source)
    found = _positional(translation)
    names = [translation[slice(*one)] for one in found]
    if names == wanted_names(source, wanted) or len(found) != len(wanted):
        return translation
    order = wanted_names(source, wanted)
    if len(order) > MOST_MARKS:  # too many to be a sentence
        return source
    written = []
    free = list(range(len(order)))
    for at, name in enumerate(names):
        index = next((one for one in free if order[one] == name), None)
        if index is None:
            return translation
        free.remove(index)
        if numbering == "printf" and name != "{}":
            written.append(f"%{index + 1}${name[1:]}")
        elif numbering == "braces" and name == "{}":
            written.append(f"{{{index}}}")
        else:
            written.append(order[at])
    for (start, stop), name in reversed(list(zip(found, written, strict=True))):
        translation = translation[:start] + name + translation[stop:]
    return translation


def numbered(source: str) -> str:
    """A string of several placeholders of printf without number or name, with their numbers.

    While a number stands for the count, what is around it no longer tells which ``%d`` it is.
    """
    spans = _positional(source)
    others = any(_NUMBERED.match(source, *one) for one in filled_in(source))
    if others or len(spans) < 2 or any(source[start] != "%" for start, _ in spans):
        return source
    for number, (start, _) in reversed(list(enumerate(spans, 1))):
        source = f"{source[: start + 1]}{number}${source[start + 1 :]}"
    return source


def without_numbers(text: str) -> str:
    """A string without the numbers of :func:`numbered`, if they are still in order."""
    found = [one for one in filled_in(text) if _NUMBERED.match(text, *one)]
    if [int(text[start + 1 : text.index("$", start)]) for start, _ in found] != [
        *range(1, len(found) + 1)
    ]:
        return text
    for start, _ in reversed(found):
        text = text[: start + 1] + text[text.index("$", start) + 1 :]
    return text


def wanted_names(text: str, spans: Sequence[Span]) -> list[str]:
    """What is written in parts of a text."""
    return [text[slice(*one)] for one in spans]


def same_tags(one: str, other: str) -> bool:
    """Whether two strings have the same tags, in whatever order."""
    first, second = (Counter(tag[0] for tag in TAG.finditer(text)) for text in (one, other))
    return first == second


def _positional(text: str) -> list[Span]:
    return [one for one in filled_in(text) if _POSITIONAL.fullmatch(text[slice(*one)])]


def same_placeholders(source: str, translation: str) -> bool:
    """Whether two strings have the same placeholders and tags, in whatever order."""
    one = wanted_names(source, filled_in(source))
    signs = {name[0] for name in one}
    spans = filled_in(translation)
    spans = [
        span
        for span in spans
        if translation[span[0]] in signs or not _is_amount(translation, span, source)
    ]
    wanted, found = Counter(one), Counter(wanted_names(translation, spans))
    read = _conversions(source, source)
    if read and found[_PERCENT] > wanted[_PERCENT]:
        found[_PERCENT] = wanted[_PERCENT]  # without_stray wrote the sign so
    return (
        +wanted == +found
        and read == _conversions(translation, source)
        and same_tags(source, translation)
    )


def _conversions(text: str, source: str) -> Counter[str]:
    """What a program that formats a string as printf does would fill in, from left to right.

    ``%%1$s`` is a sign and the text ``1$s``.
    """
    found = _CONVERSION.finditer(text)
    return Counter(
        one[0] for one in found if one[0] != _PERCENT and not _is_amount(text, one.span(), source)
    )


def _is_amount(text: str, span: Span, source: str) -> bool:
    """Whether what looks like a placeholder is the sign of a number of the source.

    As ``%50`` in Turkish, and ``50%-ige`` in German, for 50%.
    """
    start, stop = span
    found = _AMOUNT.fullmatch(text, start, stop)
    if found is None and text[start] == "%":
        found = _NUMBER_BEFORE.search(text, max(0, start - _LONGEST_NUMBER), start)
    return found is not None and found[1] in _numbers(source)


@lru_cache(maxsize=4)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\d+", text))


def without_stray(text: str, plain: str, placeholders: Collection[str]) -> str:
    """A part of a translation without what a program would take for a placeholder or tag.

    Args:
        text: of the translation, between placeholders.
        plain: the source without its placeholders; what it has of that kind is text, as in
            ``&lt;b&gt;``.
        placeholders: of the source.
    """
    signs = {one[0] for one in placeholders if one}
    for start, stop in reversed(filled_in(text)):
        is_text = text[start] not in signs and _is_amount(text, (start, stop), plain)
        if text[start:stop] not in plain and not is_text:
            text = text[:start] + text[stop:]
    text = TAG.sub(lambda found: found[0] if found[0] in plain else "", text)
    for sign in "{}<>":
        if sign not in plain:
            text = text.replace(sign, "")
    if "%" in text and "%" not in plain and any(map(_is_conversion, placeholders)):
        text = text.replace("%", "" if _PERCENT in placeholders else _PERCENT)
    return text


def _is_conversion(placeholder: str) -> bool:
    return placeholder != _PERCENT and _CONVERSION.fullmatch(placeholder) is not None
