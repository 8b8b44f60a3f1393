"""French, as in France: "samedi trois mars mille neuf cent quatre-vingt-quatre"."""

from __future__ import annotations

import re
from typing import ClassVar

from studies.synthetic import cldr
from studies.synthetic.meanings import Date, Time
from studies.synthetic.verbaliser import Verbaliser, joined_numeral, numeral


class French(Verbaliser):
    """Says the meanings in French."""

    language: ClassVar[str] = "fr"
    feminine: ClassVar[frozenset[str]] = frozenset(
        {"week", "hour", "minute", "second", "GBP", "INR"}
    )

    def cardinal(self, value: int) -> str:
        """A number, masculine."""
        return joined_numeral("fr", value, 1000, " ")

    def counting(self, value: int, thing: str) -> str:
        """A number before a noun: "une", "vingt et une" of feminine ones."""
        words = self.cardinal(value)
        return re.sub(r"\bun$", "une", words) if thing in self.feminine else words

    def ordinal(self, value: int) -> str:
        """An ordinal, masculine.

        num2words keeps the plural mark of a round number before the ending: "deux centsième".
        """
        words = numeral("fr", value, "ordinal")
        return words.replace("centsième", "centième").replace("vingtsième", "vingtième")

    def ordinal_of(self, value: int, unit: str) -> str:
        """An ordinal with a unit: "la première semaine"."""
        words = self.ordinal(value)
        if unit not in self.feminine:
            return "le " + cldr.unit("fr", unit, 1).format(words)
        words = "première" if value == 1 else words
        return "la " + cldr.unit("fr", unit, 1).format(words)

    def date(self, meaning: Date) -> str:
        """A date: the first of a month is an ordinal, the other days are not."""
        day = meaning.date.day
        # A year is a rank, not a count, so its hundreds and its "vingt" take no plural mark.
        year = re.sub(r"(?<=cent|ingt)s$", "", numeral("fr", meaning.date.year, "year"))
        text = self.fill_date(
            meaning,
            day=self.ordinal(day) if day == 1 else self.cardinal(day),
            month=cldr.month("fr", meaning.date.month),
            year=year,
        )
        return text if meaning.with_weekday else f"le {text}"

    def time(self, meaning: Time) -> str:
        """A time: the quarters as people say them, other minutes as on a railway."""
        clock = self._clock(meaning.hour, meaning.minute)
        if meaning.weekday is None:
            return clock
        return f"{cldr.weekday('fr', meaning.weekday)} à {clock}"

    def cents(self, count: int, currency: str) -> str:
        """The euro has centimes, the dollar cents."""
        return ("centime" if currency == "EUR" else "cent") + ("" if count == 1 else "s")

    def _clock(self, hour: int, minute: int) -> str:
        if minute not in (0, 15, 30, 45):
            return f"{self._hours(hour)} {self.counting(minute, 'minute')}"
        named = (hour + 1) % 24 if minute == 45 else hour
        half = " et demi" if named % 12 == 0 else " et demie"
        said = {0: "", 15: " et quart", 30: half, 45: " moins le quart"}[minute]
        if named % 12 == 0:
            return cldr.period("fr", "noon" if named else "midnight") + said
        return f"{self._hours(named % 12)}{said} {cldr.day_period('fr', hour)}"

    def _hours(self, hour: int) -> str:
        return self.counting(hour, "hour") + (" heure" if hour < 2 else " heures")
