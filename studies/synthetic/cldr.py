"""Names and patterns from the Unicode Common Locale Data Repository, through Babel.

CLDR formats digits; the verbalisers replace these by words.  So templates have ``{}`` in the place
of the number, and no-break spaces become plain ones.
"""

from __future__ import annotations

import datetime
from functools import cache

from dragoman.core.errors import MissingExtraError

try:
    from babel import Locale
    from babel.dates import get_date_format, get_period_id, get_period_names
    from babel.lists import format_list
    from babel.numbers import get_currency_name
    from babel.units import format_unit
except ImportError as error:
    raise MissingExtraError.of("Babel", "babel", "num2words") from error


@cache
def _locale(language: str) -> Locale:
    return Locale.parse(language)


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u202f", " ")


@cache
def month(language: str, number: int) -> str:
    """The name of a month (1 is January) as used in a date."""
    return str(_locale(language).months["format"]["wide"][number])


@cache
def weekday(language: str, number: int) -> str:
    """The name of a weekday (0 is Monday) as used in a date."""
    return str(_locale(language).days["format"]["wide"][number])


@cache
def date_pattern(language: str, with_weekday: bool) -> str:
    """CLDR's full or long date, with ``%(EEEE)s``, ``%(d)s``, ``%(MMMM)s`` and ``%(y)s``."""
    pattern = get_date_format("full" if with_weekday else "long", locale=language)
    return _plain(str(pattern.format))


@cache
def day_period(language: str, hour: int) -> str:
    """The words for the part of the day: "in the morning", "de la tarde"."""
    # A minute past the hour: at twelve sharp CLDR answers "noon" or "midnight".
    return period(language, get_period_id(datetime.time(hour, 1), locale=language))


@cache
def period(language: str, name: str) -> str:
    """The words for one of CLDR's day periods: "noon", "midnight", "am", "pm", "evening1"."""
    # CLDR inherits a width that is missing from the next shorter one; Babel does not.
    for width in ("wide", "abbreviated"):
        names = get_period_names(width, "format", locale=language)
        if name in names:
            return _plain(str(names[name]))
    raise AssertionError(f"CLDR names no {name} in {language}")


@cache
def plural(language: str, count: int) -> str:
    """CLDR's plural category of a count: "one", "other"."""
    return str(_locale(language).plural_form(count))


def unit(language: str, unit_name: str, count: int) -> str:
    """The pattern for ``count`` of a unit of time: ``"{} hours"``."""
    return _unit(language, unit_name, plural(language, count))


@cache
def _unit(language: str, unit_name: str, category: str) -> str:
    sample = 1 if category == "one" else 2
    # Korean has no long names of its own for units of time: its short ones are whole words.
    text = format_unit(
        sample,
        f"duration-{unit_name}",
        length="short" if language == "ko" else "long",
        locale=language,
    )
    assert str(sample) in text, f"CLDR has no pattern for {unit_name} in {language}"
    return _plain(text).replace(str(sample), "{}")


def currency(language: str, code: str, count: int) -> str:
    """The name of a currency as used after ``count``: "euros"."""
    return _currency(language, code, plural(language, count))


@cache
def _currency(language: str, code: str, category: str) -> str:
    return _plain(get_currency_name(code, count=1 if category == "one" else 2, locale=language))


def enumeration(language: str, items: list[str]) -> str:
    """Items joined as in running text: "two days, three hours, and one minute"."""
    joined = format_list(
        items, style="unit-short" if language == "ko" else "standard", locale=language
    )
    return _plain(joined)
