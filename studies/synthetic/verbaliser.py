"""What every language needs to say the meanings of the embedded corpus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set
from functools import cache
from typing import ClassVar

from dragoman.core.errors import MissingExtraError
from studies.synthetic import cldr
from studies.synthetic.meanings import (
    Amount,
    Date,
    Duration,
    Meaning,
    Number,
    Ordinal,
    Time,
)

try:
    from num2words import num2words
except ImportError as error:
    raise MissingExtraError.of("num2words", "num2words") from error


@cache
def numeral(language: str, value: int, form: str = "cardinal") -> str:
    """num2words' words for a number; ``form`` is "cardinal", "ordinal" or "year".

    Its mistakes are corrected in the verbaliser of the language.
    """
    return str(num2words(value, lang=language, to=form))


def joined_numeral(language: str, value: int, base: int, between: str) -> str:
    """The words for the multiples of ``base`` in a number, then those for the rest.

    num2words is slow for every new number; in two parts there are few new ones.
    """
    high, low = divmod(value, base)
    if not high or not low:
        return numeral(language, value)
    return f"{numeral(language, high * base)}{between}{numeral(language, low)}"


class Verbaliser(ABC):
    """Says a meaning in one language, always in the same way.

    A language gives its numerals, its dates and its times; what counts things (durations and
    amounts) is common, with the gender of the thing counted as the one difference.
    """

    language: ClassVar[str]
    feminine: ClassVar[Set[str]]
    """The units (CLDR's names) and currencies (ISO 4217) that are feminine."""

    def say(self, meaning: Meaning) -> str:
        """The meaning in words."""
        match meaning:
            case Number(value):
                return self.cardinal(value)
            case Ordinal(value, unit):
                return self.ordinal(value) if unit is None else self.ordinal_of(value, unit)
            case Date():
                return self.date(meaning)
            case Time():
                return self.time(meaning)
            case Duration(parts):
                return cldr.enumeration(self.language, [self.quantity(n, u) for n, u in parts])
            case Amount():
                return self.amount(meaning)

    @abstractmethod
    def cardinal(self, value: int) -> str:
        """A number by itself: "eins"."""

    @abstractmethod
    def counting(self, value: int, thing: str) -> str:
        """A number before the unit or currency it counts: "eine" of Stunde."""

    @abstractmethod
    def ordinal(self, value: int) -> str:
        """An ordinal by itself, masculine where that matters: "premier"."""

    @abstractmethod
    def ordinal_of(self, value: int, unit: str) -> str:
        """An ordinal with its article and unit: "la première semaine"."""

    @abstractmethod
    def date(self, meaning: Date) -> str:
        """A date, after CLDR's pattern, as it is read aloud."""

    @abstractmethod
    def time(self, meaning: Time) -> str:
        """A time of day as it is read aloud."""

    @abstractmethod
    def cents(self, count: int, currency: str) -> str:
        """The word for hundredths of a currency after ``count``, which CLDR does not have."""

    def quantity(self, count: int, unit: str) -> str:
        """A number of units of time: "eine Stunde"."""
        words = self.counting(count, unit)
        return cldr.unit(self.language, unit, count).format(words)

    def currency(self, code: str, count: int) -> str:
        """The currency as the language writes it inside a sentence."""
        return cldr.currency(self.language, code, count)

    def amount(self, meaning: Amount) -> str:
        """A number of units of a currency, and of cents if there are any."""
        value, code = meaning.value, meaning.currency
        whole = f"{self.counting(value, code)} {self.currency(code, value)}"
        if not meaning.cents:
            return whole
        number = self.counting(meaning.cents, "cent")
        parts = [whole, f"{number} {self.cents(meaning.cents, code)}"]
        return cldr.enumeration(self.language, parts)

    def fill_date(self, meaning: Date, *, day: str, month: str, year: str) -> str:
        """CLDR's pattern for the date with words in place of its digits."""
        pattern = cldr.date_pattern(self.language, meaning.with_weekday)
        weekday = cldr.weekday(self.language, meaning.date.weekday())
        return pattern % {"EEEE": weekday, "d": day, "MMMM": month, "y": year}
