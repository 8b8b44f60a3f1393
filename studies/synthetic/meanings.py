"""What a row of the embedded corpus says, before any language says it, and how it is drawn.

Two meanings are equal if a model that knows one would know the other; the corpus never holds
equal meanings twice.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random


@dataclass(frozen=True)
class Number:
    """A cardinal number, 0 to 999,999."""

    value: int


@dataclass(frozen=True)
class Ordinal:
    """A place in an order, 1 to 999, of a unit of time or of nothing named."""

    value: int
    unit: str | None


@dataclass(frozen=True)
class Date:
    """A calendar date; with or without its weekday it is the same meaning."""

    date: datetime.date
    with_weekday: bool = field(compare=False)


@dataclass(frozen=True)
class Time:
    """A time of day to the minute, on a weekday (0 is Monday) or on none."""

    hour: int
    minute: int
    weekday: int | None


@dataclass(frozen=True)
class Duration:
    """One to three counted units of time, the largest first."""

    parts: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Amount:
    """Money: whole units of an ISO 4217 currency, and hundredths if it has "cents"."""

    value: int
    cents: int
    currency: str


Meaning = Number | Ordinal | Date | Time | Duration | Amount

ORDINAL_UNITS = ("day", "week", "month", "hour", "minute")
CURRENCIES = ("EUR", "USD", "GBP", "CHF", "CAD", "MXN", "INR", "JPY", "KRW")
WITH_CENTS = frozenset({"EUR", "USD", "CAD"})

FIRST_YEAR, LAST_YEAR = 1900, 2049

# Which units follow one another, and the maximum count of a unit after another.
_DURATIONS = (
    ("year", "month"),
    ("week", "day"),
    ("day", "hour"),
    ("hour", "minute"),
    ("minute", "second"),
    ("day", "hour", "minute"),
    ("hour", "minute", "second"),
)
_FOLLOWING = {"month": 11, "day": 6, "hour": 23, "minute": 59, "second": 59}
_UNITS = ("year", "month", "week", "day", "hour", "minute", "second")


def _magnitude(random: Random, digits: int) -> int:
    """A number of 1 to ``digits`` digits, each length equally likely, one in four of them round."""
    length = random.randint(1, digits)
    value = random.randrange(10 ** (length - 1), 10**length)
    if random.random() < 0.25:
        unit = 10 ** random.randrange(length)
        value -= value % unit
    return value


def _count(random: Random, digits: int) -> int:
    """A number to count things with.

    "One hundred and one euros" makes the noun waver between singular and plural in German, so
    counts above 100 that end in 01 are left out.
    """
    while True:
        value = _magnitude(random, digits)
        if value == 1 or value % 100 != 1:
            return value


def _number(random: Random) -> Number:
    return Number(_magnitude(random, 6))


def _ordinal(random: Random) -> Ordinal:
    return Ordinal(_magnitude(random, 3), random.choice((None, *ORDINAL_UNITS)))


def _date(random: Random) -> Date:
    first = datetime.date(FIRST_YEAR, 1, 1).toordinal()
    last = datetime.date(LAST_YEAR, 12, 31).toordinal()
    return Date(datetime.date.fromordinal(random.randint(first, last)), random.random() < 0.5)


def _time(random: Random) -> Time:
    # The quarters are the most common, and languages have special words for them.
    minute = random.choice((0, 15, 30, 45)) if random.random() < 0.3 else random.randrange(60)
    weekday = random.randrange(7) if random.random() < 0.8 else None
    return Time(random.randrange(24), minute, weekday)


def _duration(random: Random) -> Duration:
    if random.random() < 0.3:
        return Duration(((_count(random, 3), random.choice(_UNITS)),))
    first, *others = random.choice(_DURATIONS)
    following = [(random.randint(1, _FOLLOWING[unit]), unit) for unit in others]
    return Duration(((_count(random, 2), first), *following))


def _amount(random: Random) -> Amount:
    currency = random.choice(CURRENCIES)
    has_cents = currency in WITH_CENTS and random.random() < 0.5
    return Amount(_count(random, 5), random.randint(1, 99) if has_cents else 0, currency)


_DRAW: dict[str, Callable[[Random], Meaning]] = {
    "number": _number,
    "ordinal": _ordinal,
    "date": _date,
    "time": _time,
    "duration": _duration,
    "amount": _amount,
}

KINDS = tuple(_DRAW)


def draw(kind: str, random: Random) -> Meaning:
    """A random meaning of one of :data:`KINDS`."""
    return _DRAW[kind](random)
