"""Korean: "천구백팔십사년 삼월 삼일 토요일"."""

from __future__ import annotations

from typing import ClassVar

from studies.synthetic import cldr
from studies.synthetic.meanings import Date, Time
from studies.synthetic.verbaliser import Verbaliser, joined_numeral, numeral

# Native numerals as used before a counter; num2words has only the Sino-Korean ones.
_ONES = ("", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉")
_TENS = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")

# June and October lose a final consonant that their digits do not show.
_MONTHS = {6: "유월", 10: "시월"}

_ORDINAL_UNITS = {"day": "날", "week": "주", "month": "달", "hour": "시간", "minute": "분"}


class Korean(Verbaliser):
    """Says the meanings in Korean."""

    language: ClassVar[str] = "ko"
    feminine: ClassVar[frozenset[str]] = frozenset()

    def cardinal(self, value: int) -> str:
        """A Sino-Korean number, spaced at ten thousand."""
        return joined_numeral("ko", value, 10_000, " ")

    def counting(self, value: int, thing: str) -> str:
        """A number before a counter: hours take native numerals, as far as these go."""
        return _native(value) if thing == "hour" and value < 100 else self.cardinal(value)

    def quantity(self, count: int, unit: str) -> str:
        """A number of units of time; in words, a space separates the number from its unit."""
        return cldr.unit("ko", unit, count).format(f"{self.counting(count, unit)} ")

    def ordinal(self, value: int) -> str:
        """An ordinal: native numerals after the hundreds, and a "first" of its own."""
        return f"{'첫' if value == 1 else _native(value)} 번째"

    def ordinal_of(self, value: int, unit: str) -> str:
        """An ordinal with a unit: "스물한 번째 주"."""
        return f"{self.ordinal(value)} {_ORDINAL_UNITS[unit]}"

    def date(self, meaning: Date) -> str:
        """A date, the year first."""
        month = meaning.date.month
        # CLDR's month is a number and a word, such as 3월.
        said = cldr.month("ko", month).replace(str(month), self.cardinal(month))
        return self.fill_date(
            meaning,
            day=self.cardinal(meaning.date.day),
            month=_MONTHS.get(month, said),
            year=self.cardinal(meaning.date.year),
        )

    def time(self, meaning: Time) -> str:
        """A time: native hours of a twelve-hour clock, Sino-Korean minutes."""
        clock = self._clock(meaning.hour, meaning.minute)
        if meaning.weekday is None:
            return clock
        return f"{cldr.weekday('ko', meaning.weekday)} {clock}"

    def currency(self, code: str, count: int) -> str:
        """The currency; after a number the yen sheds the syllable for "currency"."""
        return super().currency(code, count).replace("엔화", "엔")

    def cents(self, count: int, currency: str) -> str:
        """Cents of euros and of dollars alike."""
        return "센트"

    def _clock(self, hour: int, minute: int) -> str:
        if minute == 0 and hour in (0, 12):
            return cldr.period("ko", "noon" if hour else "midnight")
        period = cldr.period("ko", "am" if hour < 12 else "pm")
        minutes = {0: "", 30: " 반"}.get(minute, f" {self.cardinal(minute)} 분")
        return f"{period} {_native((hour - 1) % 12 + 1)} 시{minutes}"


def _native(value: int) -> str:
    """A native numeral below 1,000, its hundreds Sino-Korean; 20 is "스무" when it ends so."""
    hundreds, rest = divmod(value, 100)
    head = numeral("ko", hundreds * 100) if hundreds else ""
    return head + ("스무" if rest == 20 else _TENS[rest // 10] + _ONES[rest % 10])
