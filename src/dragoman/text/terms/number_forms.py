"""Spellings of numbers: separators, digits and hours of other languages."""

from __future__ import annotations

import re
import unicodedata

_GROUP = 3  # digits between two signs of a long number
_NO_MARKS = str.maketrans("", "", ".,")
_WIDE = str.maketrans("0123456789.,", "０１２３４５６７８９．，")
_LARGEST_IN_WORDS = 12
_AFTERNOON = re.compile(r"(?::\d\d)?\s?[pP]\.?[mM]\b")
_HOURS, _HOUR_DIGITS = 12, 2
_ENDS_IN_GROUP = re.compile(r"\d+([.,])(?:\d\d\d?\1)*\d{3}(?!\1)(?![\d])")
_LONG = re.compile(r"\d{4}|\d[.,]\d{3}")
_COUNTED_IN_WORDS = re.compile("[\\d０-９]\\s?[万萬億亿兆千百십백천만억조]")


def number_forms(number: str, behind: str = "") -> tuple[str, ...]:
    """Spellings of a number in other languages, such as 1.234,5, 1 234,5 or 1234.5 for 1,234.5.

    Args:
        behind: the text behind it, which may say that it is an hour of the afternoon.
    """
    plain = _in_ascii(number)
    found = [*_separated(number), *_separated(plain)]
    if len(plain) == _HOUR_DIGITS and plain[0] == "0" and plain.isdecimal():  # as in 09:00
        found.append(plain.lstrip("0") or "0")
    if _AFTERNOON.match(behind) and (hour := re.match(r"\d+", plain)) and int(hour[0]) < _HOURS:
        found += _separated(f"{int(hour[0]) + _HOURS}{plain[hour.end() :]}")
    found += [one.translate(_WIDE) for one in found]
    return tuple(dict.fromkeys(found))


def is_small(number: str) -> bool:
    """Whether many languages write a number in words: a whole one of at most twelve."""
    plain = _in_ascii(number)
    return plain.isascii() and plain.isdecimal() and int(plain) <= _LARGEST_IN_WORDS


def is_counted_in_words(number: str, translation: str) -> bool:
    """Whether a long number may be written with words for its thousands, as in 17万5千."""
    return bool(_LONG.search(_in_ascii(number)) and _COUNTED_IN_WORDS.search(translation))


def _in_ascii(number: str) -> str:
    """A number of almost any script in ASCII digits, such as 10 for １０ and ١٠."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in number)


def _separated(number: str) -> list[str]:
    """A number with the separators of several languages between its digits."""
    swapped = number.translate({ord(","): ".", ord("."): ","})
    found = [number, swapped]
    whole = number.replace(",", ".").partition(".")[0]
    mark, rest = number[len(whole) :][:1], number[len(whole) + 1 :]
    has_more = len(rest) > len(rest.translate(_NO_MARKS))
    if has_more and not _ENDS_IN_GROUP.match(number):  # a version or a date
        return found
    if has_more or (mark and _is_group(whole, rest)):
        for one in (number, swapped):  # the first mark separates thousands
            first = next(c for c in one if c in ",.")
            found += [one.replace(first, " "), one.replace(first, "")]
    elif len(whole) > _GROUP and whole.isdecimal() and whole[0] != "0":
        point = {",": ".", ".": ","}
        for between in ",. ":
            decimals = [point[between]] if between in point else [".", ","]
            parts = _in_groups(whole, between)
            found += [parts + one + rest for one in decimals] if mark else [parts]
    return found


def _is_group(whole: str, rest: str) -> bool:
    """Whether the digits after the only mark of a number may be its last three digits."""
    return len(rest) == _GROUP and 0 < len(whole) <= _GROUP and whole[0] != "0"


def _in_groups(digits: str, between: str) -> str:
    """Digits with a sign between thousands."""
    first = len(digits) % _GROUP or _GROUP
    groups = [digits[place : place + _GROUP] for place in range(first, len(digits), _GROUP)]
    return between.join([digits[:first], *groups])
