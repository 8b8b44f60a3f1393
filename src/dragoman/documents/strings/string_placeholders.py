"""Placeholders of strings: where programs fill something in, and whether a translation keeps it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

import regex

from dragoman.documents.marks.marked_text import MOST_MARKS
from dragoman.documents.strings.string_syntax import ANY, Numbering, StringSyntax
from dragoman.text.percent_notations import CONVERSION, INTEGER, NUMBERED, POSITIONAL, STANDALONE
from dragoman.text.placeholder_notations import PERCENT, notation_pattern
from dragoman.text.terms.copied_text import PROTECTED_PATTERNS
from dragoman.text.terms.terminology import Terminology
from dragoman.text.word_edges import Span

_ENTITY = r"&(?!(?:amp|lt|gt);)(?:\#\d+|\#[xX][0-9a-fA-F]+|[A-Za-z]\w*);"
_HINT = re.compile(r"[%{$@`&:\[/\\#!_~*]|www\.", re.IGNORECASE)
_IN_PROSE = frozenset(":@!#*_\\~")
"""Signs that a translation may have in front of a word without meaning a placeholder."""
TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*|\d+)(?:\s[^<>]*?)?(?P<empty>/?)>")
"""A tag in a string."""
_POSITIONAL = re.compile(rf"{POSITIONAL}|\{{\}}")
_DECLARED_POSITIONAL = re.compile(
    r"%[-+0#,' (]*(?:\d+|\*)?(?:\.(?:\d*|\*))?[hlqLjzt]*[A-Za-mo-z@]|\{\}"
)
_NUMBERED = re.compile(NUMBERED)
_INTEGER = re.compile(INTEGER)
_CONVERSION = re.compile(CONVERSION)
_STANDALONE = re.compile(STANDALONE)
_PERCENT = "%%"  # what such programs print as one sign
_AMOUNT = re.compile(r"[%$](\d+)")
_NUMBER_BEFORE = re.compile(r"(\d+)\s?\Z")
_LONGEST_NUMBER = 20
_NAME = re.compile(r"[%{$@!:\[(<#|_\\~\s-]*(?:L(?=n))?([A-Za-z]\w*(?:[.-]\w+)*|(?=\d))")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_COUNT_NAMES = "amount cnt count counter counts n nb num number qty quantity total"
_COUNTS = frozenset(_COUNT_NAMES.split())
"""Names that programs give to the number that decides on a plural form."""


def filled_in(text: str, syntax: StringSyntax = ANY) -> list[Span]:
    """Spans of the placeholders of a string, tags excepted, in order."""
    if not _HINT.search(text):
        return []
    # In "%sLearn more%s", no word is a name.
    words = "words" if _STANDALONE.search(text) else None
    return _filled_in(syntax, words is None).protected(text)


@lru_cache(maxsize=64)
def _filled_in(syntax: StringSyntax, has_words: bool) -> Terminology:
    pattern = _pattern(syntax if has_words else replace(syntax, without=syntax.without | {"words"}))
    return Terminology(
        protect=("urls",), patterns=(f"(?x:{pattern})", *PROTECTED_PATTERNS, _ENTITY)
    )


@lru_cache(maxsize=64)
def _notation(syntax: StringSyntax) -> regex.Pattern[str]:
    return regex.compile(_pattern(syntax), regex.VERSION1 | regex.VERBOSE)


def _pattern(syntax: StringSyntax) -> str:
    return notation_pattern(
        is_string=True, declared=syntax.declared, certain=syntax.is_certain, without=syntax.without
    )


def count_span(
    text: str,
    spans: Sequence[Span],
    syntax: StringSyntax = ANY,
    *,
    guesses: bool = True,
    singular: str = "",
) -> Span | None:
    """The placeholder, among spans, that is the count of a plural form, or None if unknown.

    If it ``guesses``, the only placeholder is the count, regardless of its name.  The ``singular``,
    the form for 1 or empty if unknown, may lack it.
    """
    notation = _notation(syntax)
    placeholders = [
        span for span in spans if notation.fullmatch(text, *span) and text[slice(*span)] != _PERCENT
    ]
    names = {one: _name(text[slice(*one)]) for one in placeholders}
    named = [one for one in placeholders if names[one].lower() in _COUNTS]
    integers = [one for one in placeholders if _INTEGER.fullmatch(text, *one)]
    parts = [
        one
        for one in placeholders
        if _COUNTS & {word.lower() for word in _WORD.findall(names[one])}
    ]
    best = named or integers or parts
    if not best and guesses and singular and len(placeholders) > 1:
        others = placeholder_names(singular, syntax)
        placeholders = [one for one in placeholders if text[slice(*one)] not in others]
    if best or (guesses and len(placeholders) == 1):
        return (best or placeholders)[0]
    return None


def _name(placeholder: str) -> str:
    """The name of a placeholder's value, without its notation.  Empty if it has no name."""
    found = _NAME.match(placeholder)
    return "" if found is None else found[1].rpartition(".")[2] or found[1]


def kept(source: str, translation: str, syntax: StringSyntax = ANY) -> str | None:
    """A translation as it can be written, or None if its placeholders or tags are others."""
    written = apart(source, translation, syntax)
    return in_order(source, written, syntax) if same_placeholders(source, written, syntax) else None


def apart(source: str, translation: str, syntax: StringSyntax) -> str:
    """A translation with a space beside each placeholder that would be read as part of a word."""
    wanted = Counter(placeholder_names(source, syntax))
    lost = wanted - Counter(placeholder_names(translation, syntax))
    for name in lost:
        joined = rf"(?<=[A-Za-z0-9_])(?={re.escape(name)})|(?<={re.escape(name)})(?=[A-Za-z0-9_])"
        translation = re.sub(joined, " ", translation)
    return translation


def in_order(source: str, translation: str, syntax: StringSyntax = ANY) -> str:
    """A translation whose placeholders without number or name get what they had in the source."""
    wanted = _positional(source, syntax)
    found = _positional(translation, syntax)
    order, names = contents(source, wanted), contents(translation, found)
    if names == order or len(found) != len(wanted):
        return translation
    if len(order) > MOST_MARKS:  # too many to be a sentence
        return source
    written = []
    free = list(range(len(order)))
    takes_two = any("*" in name for name in order)  # its width, too
    for at, name in enumerate(names):
        index = next((one for one in free if order[one] == name), None)
        if index is None:
            return translation
        free.remove(index)
        numbered_name = None if takes_two else _with_number(name, index, syntax.numbering)
        written.append(order[at] if numbered_name is None else numbered_name)
    for (start, stop), name in reversed(list(zip(found, written, strict=True))):
        translation = translation[:start] + name + translation[stop:]
    return translation


def _with_number(name: str, index: int, numbering: Numbering) -> str | None:
    """A placeholder with the number of its argument, or None if it cannot have one."""
    if name == "{}":
        return f"{{{index}}}" if numbering == "braces" else None
    if numbering == "printf":
        return f"%{index + 1}${name[1:]}"
    return f"{name[:-1]}[{index + 1}]{name[-1]}" if numbering == "go" else None


def numbered(source: str, syntax: StringSyntax) -> str:
    """A string of several placeholders of printf without number or name, with their numbers.

    While a number stands for the count, what is around it no longer tells which ``%d`` it is.
    """
    spans = _positional(source, syntax)
    others = any(_NUMBERED.match(source, *span) for span in filled_in(source, syntax))
    if others or len(spans) < 2 or any(source[start] != "%" for start, _ in spans):
        return source
    if any("*" in source[slice(*one)] for one in spans):
        return source
    for number, (start, _) in reversed(list(enumerate(spans, 1))):
        source = f"{source[: start + 1]}{number}${source[start + 1 :]}"
    return source


def without_numbers(text: str, syntax: StringSyntax) -> str:
    """A string without the numbers of :func:`numbered`, if they are still in order."""
    spans = [span for span in filled_in(text, syntax) if _NUMBERED.match(text, *span)]
    if [int(text[start + 1 : text.index("$", start)]) for start, _ in spans] != [
        *range(1, len(spans) + 1)
    ]:
        return text
    for start, _ in reversed(spans):
        text = text[: start + 1] + text[text.index("$", start) + 1 :]
    return text


def contents(text: str, spans: Sequence[Span]) -> list[str]:
    """The content of parts of a text."""
    return [text[slice(*span)] for span in spans]


def placeholder_names(text: str, syntax: StringSyntax) -> list[str]:
    """The placeholders of a string, as they are written."""
    return contents(text, filled_in(text, syntax))


def same_tags(one: str, other: str) -> bool:
    """Whether two strings have the same tags, in whatever order."""
    first, second = (Counter(tag[0] for tag in TAG.finditer(text)) for text in (one, other))
    return first == second


def _positional(text: str, syntax: StringSyntax) -> list[Span]:
    kinds = _DECLARED_POSITIONAL if syntax.declared & PERCENT else _POSITIONAL
    return [span for span in filled_in(text, syntax) if kinds.fullmatch(text, *span)]


def same_placeholders(source: str, translation: str, syntax: StringSyntax = ANY) -> bool:
    """Whether two strings have the same placeholders and tags, in whatever order."""
    wanted = Counter(placeholder_names(source, syntax))
    signs = {name[0] for name in wanted}
    found = Counter(
        translation[slice(*span)]
        for span in filled_in(translation, syntax)
        if translation[span[0]] in signs
        or not (translation[span[0]] in _IN_PROSE or _is_amount(translation, span, source))
    )
    for name in found - wanted:  # "{n}%" is "%{n}" in Turkish
        sign, rest = name[0], name[1:]
        if rest in wanted - found and sign in source.replace(rest, ""):
            found[rest] += found.pop(name)
    if any(map(_is_conversion, wanted)):
        # without_stray wrote more of them.
        found[_PERCENT] = min(found[_PERCENT], wanted[_PERCENT])
        if _conversions(source, source, wanted) != _conversions(translation, source, wanted):
            return False
    return +wanted == +found and same_tags(source, translation)


def _conversions(text: str, source: str, wanted: Collection[str]) -> Counter[str]:
    """Placeholders of a string as printf reads it, from left to right.

    ``%%1$s`` is a sign and the text ``1$s``.
    """
    return Counter(
        match[0]
        for match in _CONVERSION.finditer(text)
        if match[0] in wanted or not _is_amount(text, match.span(), source)
        if match[0] != _PERCENT
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


def without_stray(
    text: str, plain: str, placeholders: Collection[str], syntax: StringSyntax = ANY
) -> str:
    """A part of a translation without what a program would take for a placeholder or tag.

    ``plain`` is the source without its placeholders; what looks like one there is text, as in
    ``&lt;b&gt;``.
    """
    signs = {placeholder[0] for placeholder in placeholders if placeholder}
    for start, stop in reversed(filled_in(text, syntax)):
        is_text = text[start] not in signs and (
            text[start] in _IN_PROSE or _is_amount(text, (start, stop), plain)
        )
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
