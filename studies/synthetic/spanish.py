"""Spanish, as in Spain: "sábado, tres de marzo de mil novecientos ochenta y cuatro"."""

from __future__ import annotations

import re
from typing import ClassVar

from studies.synthetic import cldr
from studies.synthetic.meanings import Date, Time
from studies.synthetic.verbaliser import Verbaliser, joined_numeral, numeral

# num2words' forms beside those that the Real Academia Española gives.
_ORDINALS = {
    "décimoprimero": "undécimo",
    "décimosegundo": "duodécimo",
    "décimo octavo": "decimoctavo",
    "décimo ": "decimo",
    "cuadrigentésimo": "cuadringentésimo",
    "septigentésimo": "septingentésimo",
    "octigentésimo": "octingentésimo",
}


class Spanish(Verbaliser):
    """Says the meanings in Spanish."""

    language: ClassVar[str] = "es"
    feminine: ClassVar[frozenset[str]] = frozenset({"week", "hour", "GBP", "INR"})

    def cardinal(self, value: int) -> str:
        """A number, masculine; "uno" is shortened before "mil", which num2words leaves out."""
        return _shorten(joined_numeral("es", value, 1000, " "), " mil")

    def counting(self, value: int, thing: str) -> str:
        """A number before a noun: "veintiún días", "doscientas veintiuna horas"."""
        words = self.cardinal(value)
        if thing not in self.feminine:
            return _shorten(words, "$")
        words = re.sub(r"(cient|quinient)os\b", r"\1as", words)
        return re.sub(r"uno$", "una", words)

    def ordinal(self, value: int) -> str:
        """An ordinal, masculine."""
        words = numeral("es", value, "ordinal")
        for found, right in _ORDINALS.items():
            words = re.sub(rf"\b{found}", right, words)
        return words

    def ordinal_of(self, value: int, unit: str) -> str:
        """An ordinal with a unit: "la vigésima primera semana", "el vigésimo primer día"."""
        words = self.ordinal(value)
        if unit in self.feminine:
            return "la " + cldr.unit("es", unit, 1).format(re.sub(r"o\b", "a", words))
        words = re.sub(r"(primer|tercer)o$", r"\1", words)
        return "el " + cldr.unit("es", unit, 1).format(words)

    def date(self, meaning: Date) -> str:
        """A date: every day is a cardinal."""
        text = self.fill_date(
            meaning,
            day=self.cardinal(meaning.date.day),
            month=cldr.month("es", meaning.date.month),
            year=self.cardinal(meaning.date.year),
        )
        return text if meaning.with_weekday else f"el {text}"

    def time(self, meaning: Time) -> str:
        """A time: "el lunes a las cinco y media de la tarde"."""
        clock = self._clock(meaning.hour, meaning.minute)
        if meaning.weekday is None:
            return clock
        return f"el {cldr.weekday('es', meaning.weekday)} a {clock}"

    def cents(self, count: int, currency: str) -> str:
        """The euro has céntimos, the dollar centavos."""
        return ("céntimo" if currency == "EUR" else "centavo") + ("" if count == 1 else "s")

    def _clock(self, hour: int, minute: int) -> str:
        if minute == 0 and hour in (0, 12):
            return "mediodía" if hour else "medianoche"
        named = (hour + (minute == 45) - 1) % 12 + 1
        article = "la" if named == 1 else "las"
        minutes = {0: "", 15: " y cuarto", 30: " y media", 45: " menos cuarto"}
        said = minutes.get(minute, f" y {self.cardinal(minute)}")
        period = cldr.day_period("es", hour)
        return f"{article} {self.counting(named, 'hour')}{said} {period}"


def _shorten(words: str, before: str) -> str:
    """ "Uno" and "veintiuno" as they are before what follows: "un", "veintiún"."""
    words = re.sub(rf"\bveintiuno(?={before})", "veintiún", words)
    return re.sub(rf"\buno(?={before})", "un", words)
