"""Plural forms of languages: their names, the numbers they are for, and a sample of these.

A form is translated with a number in it, such as "3 files" for Polish ``few``, because a sentence
without a number does not show a model which form is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from gettext import c2py
from typing import TYPE_CHECKING, Literal

from dragoman.core.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from babel import Locale
from dragoman.documents.strings.string_placeholders import count_span, filled_in, placeholder_names
from dragoman.documents.strings.string_syntax import ANY, StringSyntax
from dragoman.documents.strings.string_values import PlainValue, StringValue

NumberKind = Literal["cardinal", "ordinal"]

CATEGORIES = ("zero", "one", "two", "few", "many", "other")
"""Names of plural forms, in the order in which they are written (Unicode, UTS 35, part 3)."""

# The first one that a form is for is its sample: small, and typical of the form.
_NUMBERS = (3, 5, 2, 1, 0, 11, 100, *range(4, 201))
_SAMPLES = {"zero": 0, "one": 1, "two": 2}


@dataclass(frozen=True)
class PluralForm:
    """A form of a language."""

    numbers: tuple[int, ...]
    """Its numbers up to 200, the most typical first: none if it has only fractions or millions."""

    @property
    def is_singular(self) -> bool:
        """Whether it is for 1 and nothing else, so that it need not write the number."""
        return self.numbers == (1,)

    def sample(self, *, writes_number: bool = True) -> int:
        """One of its numbers.  Not 1, if possible, unless the text writes the number."""
        fitting = [number for number in self.numbers if writes_number or number != 1]
        return next(iter(fitting or self.numbers), 5)


def plural_forms(language: str, kind: NumberKind = "cardinal") -> dict[str, PluralForm]:
    """The forms of a language, by name, in the order of :data:`CATEGORIES` (CLDR)."""
    rule, names = _rule(language, kind)
    by_number = {number: rule(number) for number in _NUMBERS}
    return {name: _form(by_number, name) for name in names}


def catalogue_forms(expression: str, count: int) -> list[PluralForm]:
    """The forms that the header of a gettext catalogue describes by an expression in C of ``n``.

    Raises:
        DataError: it is no such expression, or gives a number of a form that is not there.
    """
    try:
        function = c2py(expression)
        by_number = {number: int(function(number)) for number in _NUMBERS}
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise DataError(f"plural={expression[:80]!r} is no plural rule: {error}") from error
    if not all(0 <= form < count for form in by_number.values()):
        raise DataError(f"plural={expression[:80]!r} gives numbers beyond nplurals={count}")
    return [_form(by_number, at) for at in range(count)]


def catalogue_rule(language: str) -> tuple[int, str]:
    """The number of plural forms of a language in gettext catalogues, and the rule."""
    try:
        from babel.messages.plurals import get_plural
    except ImportError as error:
        raise MissingExtraError.of("Babel", "babel") from error
    plural = get_plural(_locale(language))
    return int(plural.num_plurals), str(plural.plural_expr)


def choose_source(
    form: PluralForm, name: str, given: Mapping[str, object], *, has_number: bool
) -> str:
    """The form of the source that a form of the target, with its name, is translated from.

    ``given`` has texts of the source by name, of which one is ``other``.  ``has_number`` says
    whether the text of that name writes the number.
    """
    if name in given and (has_number or name != "one" or form.is_singular):
        return name
    return "one" if form.is_singular and "one" in given else "other"


def _form(forms: Mapping[int, object], wanted: object) -> PluralForm:
    return PluralForm(tuple(number for number, form in forms.items() if form == wanted))


@lru_cache(maxsize=32)
def _rule(language: str, kind: str) -> tuple[Callable[[int], str], tuple[str, ...]]:
    locale = _locale(language)
    rule = locale.plural_form if kind == "cardinal" else locale.ordinal_form
    return rule, tuple(
        category for category in CATEGORIES if category in rule.tags or category == "other"
    )


def _locale(language: str) -> Locale:
    """Babel's data of a language, or else of the language that its name begins with."""
    try:
        from babel import Locale, UnknownLocaleError
    except ImportError as error:
        raise MissingExtraError.of("Babel", "babel") from error
    for name in (language.replace("-", "_"), language.replace("-", "_").partition("_")[0]):
        try:
            return Locale.parse(name)
        except (UnknownLocaleError, ValueError):
            continue
    raise DataError(f"the plural forms of the language {language!r} are not known")


def translated_forms(
    given: Mapping[str, str],
    language: str,
    kind: NumberKind = "cardinal",
    syntax: StringSyntax = ANY,
) -> dict[str, StringValue]:
    """The forms of a target language to translate, in their usual order.

    ``given`` has texts of the source by the names of their forms, of which one is ``other``.
    """
    forms = source_forms(given, language, kind, syntax)
    singular = given.get("one", "")
    return {name: PlainValue(given[one], at, syntax, singular) for name, (one, at) in forms.items()}


def source_forms(
    given: Mapping[str, str],
    language: str,
    kind: NumberKind = "cardinal",
    syntax: StringSyntax = ANY,
) -> dict[str, tuple[str, int]]:
    """The forms of a target language, each with its form of the source and its number."""
    sources: dict[str, tuple[str, int]] = {}
    for name, form in plural_forms(language, kind).items():
        has_number = has_count(given.get(name, ""), syntax, given.get("one", ""))
        chosen = choose_source(form, name, given, has_number=has_number)
        number = form.sample(writes_number=chosen == name or form.is_singular)
        sources[name] = chosen, number
    return sources


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
    """Whether a text writes the number that decides on its form.  See :func:`count_span`."""
    spans = filled_in(text, syntax)
    return count_span(text, spans, syntax, guesses=guesses, singular=singular) is not None


def catalogue_values(
    singular: str, plural: str, rule: tuple[int, str], syntax: StringSyntax
) -> list[StringValue]:
    """The forms of a message of a gettext catalogue, to be translated.

    ``singular`` is for the number 1; the rule is that of :func:`catalogue_rule`.
    """
    values: list[StringValue] = []
    count, expression = rule
    in_plural = has_count(plural, syntax, singular)
    # The only placeholder of the singular is the count if the plural has no other.
    same = in_plural == has_count(singular, syntax) and _is_covered(plural, singular, syntax)
    for form in catalogue_forms(expression, count):
        fits = form.is_singular or (1 in form.numbers and same)
        number = form.sample(writes_number=fits)
        text = singular if fits and number == 1 else plural
        values.append(PlainValue(text, number, syntax, singular))
    return values


def _is_covered(text: str, other: str, syntax: StringSyntax) -> bool:
    """Whether a text has no placeholder that another lacks."""
    mine, others = (placeholder_names(one, syntax) for one in (text, other))
    return set(mine) <= set(others)
