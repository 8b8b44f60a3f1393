"""Plural forms of a string that formats keep one by one, such as ``one`` and ``other``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dragoman.documents.strings.plural_rules import (
    CATEGORIES,
    catalogue_forms,
    choose_source,
    plural_forms,
)
from dragoman.documents.strings.string_placeholders import count_span, filled_in, wanted_names
from dragoman.documents.strings.string_syntax import ANY, StringSyntax
from dragoman.documents.strings.string_values import PlainValue, StringValue

_SAMPLES = {"zero": 0, "one": 1, "two": 2}


def translated_forms(
    given: Mapping[str, str],
    language: str,
    kind: Literal["cardinal", "ordinal"] = "cardinal",
    syntax: StringSyntax = ANY,
) -> dict[str, StringValue]:
    """The forms of a target language to translate, in their usual order.

    Args:
        given: texts of the source by the names of their forms; one is ``other``.
        language: the target language.
        kind: of numbers.
        syntax: of placeholders.
    """
    forms = source_forms(given, language, kind, syntax)
    singular = given.get("one", "")
    return {name: PlainValue(given[one], at, syntax, singular) for name, (one, at) in forms.items()}


def source_forms(
    given: Mapping[str, str],
    language: str,
    kind: Literal["cardinal", "ordinal"] = "cardinal",
    syntax: StringSyntax = ANY,
) -> dict[str, tuple[str, int]]:
    """The forms of a target language, each with its form of the source and its number.

    Args:
        given: texts of the source by the names of their forms; one is ``other``.
        language: the target language.
        kind: of numbers.
        syntax: of placeholders.
    """
    found: dict[str, tuple[str, int]] = {}
    for name, form in plural_forms(language, kind).items():
        has_number = has_count(given.get(name, ""), syntax, given.get("one", ""))
        chosen = choose_source(form, name, given, has_number=has_number)
        number = form.sample(writes_number=chosen == name or form.is_singular)
        found[name] = chosen, number
    return found


def unused_forms(
    given: Mapping[str, str], language: str, syntax: StringSyntax = ANY
) -> dict[str, StringValue]:
    """Forms of the source that the grammar of the target language does not ask for.

    Programs still use ``zero`` and such for their number, where they say so.
    """
    known = plural_forms(language)
    names = [name for name in CATEGORIES if name in given and name not in known]
    return {name: PlainValue(given[name], _SAMPLES.get(name, 5), syntax) for name in names}


def has_count(
    text: str, syntax: StringSyntax = ANY, singular: str = "", *, guesses: bool = True
) -> bool:
    """Whether a text writes the number that decides on its form; see :func:`count_span`."""
    spans = filled_in(text, syntax)
    return count_span(text, spans, syntax, guesses=guesses, singular=singular) is not None


def catalogue_values(
    singular: str, plural: str, rule: tuple[int, str], syntax: StringSyntax
) -> list[StringValue]:
    """The forms of a message of a gettext catalogue, to be translated.

    Args:
        singular: for the number 1.
        plural: for all others.
        rule: how many forms the target language has, and which number has which.
        syntax: of placeholders.
    """
    found: list[StringValue] = []
    count, expression = rule
    in_plural = has_count(plural, syntax, singular)
    # The only placeholder of the singular is the count if the plural has no other.
    same = in_plural == has_count(singular, syntax) and _is_covered(plural, singular, syntax)
    for form in catalogue_forms(expression, count):
        fits = form.is_singular or (1 in form.numbers and same)
        number = form.sample(writes_number=fits)
        text = singular if fits and number == 1 else plural
        found.append(PlainValue(text, number, syntax, singular))
    return found


def _is_covered(text: str, other: str, syntax: StringSyntax) -> bool:
    """Whether a text has no placeholder that another lacks."""
    mine, others = (wanted_names(one, filled_in(one, syntax)) for one in (text, other))
    return set(mine) <= set(others)
