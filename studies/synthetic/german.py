"""German: "Samstag, der dritte März neunzehnhundertvierundachtzig"."""

from __future__ import annotations

import re
from typing import ClassVar

from studies.synthetic import cldr
from studies.synthetic.meanings import Date, Time
from studies.synthetic.verbaliser import Verbaliser, joined_numeral, numeral


class German(Verbaliser):
    """Says the meanings in German."""

    language: ClassVar[str] = "de"
    feminine: ClassVar[frozenset[str]] = frozenset({"week", "hour", "minute", "second", "INR"})

    def cardinal(self, value: int) -> str:
        """A number in one word."""
        return joined_numeral("de", value, 1000, "")

    def counting(self, value: int, thing: str) -> str:
        """A number before a noun: only one is inflected."""
        if value == 1:
            return "eine" if thing in self.feminine else "ein"
        return self.cardinal(value)

    def ordinal(self, value: int) -> str:
        """An ordinal as it follows an article: "dritte"."""
        return numeral("de", value, "ordinal")

    def ordinal_of(self, value: int, unit: str) -> str:
        """An ordinal with a unit: "die einundzwanzigste Woche"."""
        article = "die" if unit in self.feminine else "der"
        return f"{article} " + cldr.unit("de", unit, 1).format(self.ordinal(value))

    def date(self, meaning: Date) -> str:
        """A date, read as a sentence's subject: "der dritte März"."""
        text = self.fill_date(
            meaning,
            day=f"der {self.ordinal(meaning.date.day)}",
            month=cldr.month("de", meaning.date.month),
            year=numeral("de", meaning.date.year, "year"),
        )
        # With digits, the full stop makes the ordinal; in words, the ending does.
        return text.replace(". ", " ")

    def time(self, meaning: Time) -> str:
        """A time: the quarters as people say them, other minutes as on a railway."""
        clock = _clock(meaning.hour, meaning.minute)
        if meaning.weekday is None:
            return clock
        return f"am {cldr.weekday('de', meaning.weekday)} um {clock}"

    def currency(self, code: str, count: int) -> str:
        """The currency; CLDR's capital belongs to the adjective of a name by itself."""
        name = super().currency(code, count)
        return re.sub(r"\b[A-Z](?=\w+isch\w* )", lambda capital: capital[0].lower(), name)

    def cents(self, count: int, currency: str) -> str:
        """Cents of euros and of dollars alike."""
        return "Cent"


def _clock(hour: int, minute: int) -> str:
    if hour == minute == 0:
        return cldr.period("de", "midnight")
    if minute not in (0, 15, 30, 45):
        return f"{_hour_of(hour)} {numeral('de', minute)}"
    following = numeral("de", hour % 12 + 1)
    words = {
        0: _hour_of((hour - 1) % 12 + 1),
        15: f"Viertel nach {numeral('de', (hour - 1) % 12 + 1)}",
        30: f"halb {following}",
        45: f"Viertel vor {following}",
    }[minute]
    return f"{words} {cldr.day_period('de', hour)}"


def _hour_of(hour: int) -> str:
    return f"{'ein' if hour == 1 else numeral('de', hour)} Uhr"
