"""English, as in the United States: "Saturday, March third, nineteen eighty-four"."""

from __future__ import annotations

from typing import ClassVar

from studies.synthetic import cldr
from studies.synthetic.meanings import Date, Time
from studies.synthetic.verbaliser import Verbaliser, joined_numeral, numeral


class English(Verbaliser):
    """Says the meanings in English."""

    language: ClassVar[str] = "en"
    feminine: ClassVar[frozenset[str]] = frozenset()

    def cardinal(self, value: int) -> str:
        """A number, "and" before its last two digits, no comma after its thousands."""
        return joined_numeral("en", value, 1000, " and " if value % 1000 < 100 else " ")

    def counting(self, value: int, thing: str) -> str:
        """The same as by itself."""
        return self.cardinal(value)

    def ordinal(self, value: int) -> str:
        """An ordinal: "twenty-first"."""
        return numeral("en", value, "ordinal")

    def ordinal_of(self, value: int, unit: str) -> str:
        """An ordinal with a unit: "the twenty-first week"."""
        return "the " + cldr.unit("en", unit, 1).format(self.ordinal(value))

    def date(self, meaning: Date) -> str:
        """A date: "March third, nineteen eighty-four"."""
        return self.fill_date(
            meaning,
            day=self.ordinal(meaning.date.day),
            month=cldr.month("en", meaning.date.month),
            year=numeral("en", meaning.date.year, "year").replace("oh-", "oh "),
        )

    def time(self, meaning: Time) -> str:
        """A time: "Monday at half past five in the afternoon"."""
        clock = _clock(meaning.hour, meaning.minute)
        if meaning.weekday is None:
            return clock
        return f"{cldr.weekday('en', meaning.weekday)} at {clock}"

    def cents(self, count: int, currency: str) -> str:
        """Cents of euros and of dollars alike."""
        return "cent" if count == 1 else "cents"


def _clock(hour: int, minute: int) -> str:
    if minute == 0 and hour in (0, 12):
        return cldr.period("en", "noon" if hour else "midnight")
    this, following = (numeral("en", (h - 1) % 12 + 1) for h in (hour, hour + 1))
    if minute in (0, 15, 30, 45):
        words = {
            0: f"{this} o'clock",
            15: f"a quarter past {this}",
            30: f"half past {this}",
            45: f"a quarter to {following}",
        }[minute]
    else:
        zero = "oh " if minute < 10 else ""
        words = f"{this} {zero}{numeral('en', minute)}"
    return f"{words} {cldr.day_period('en', hour)}"
