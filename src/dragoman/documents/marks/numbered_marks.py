"""Texts whose marks are numbers, for formats that have rules for what may be beside a mark.

While marks are placed, a number stands for each, so that the format can tell what is markup and
what are words of the translation, and write both as its rules demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.documents.marks.marked_text import MarkedText

RESERVED = re.compile("[\x01-\x04]")
"""Signs that enclose numbers; text that has them is not read."""
KEPT_SPACE, KEPT_BREAK = "\x03", "\x04"
"""Stand for white space within markup, where no line is broken."""

_NUMBER = re.compile("\x01([0-9]+)\x02")
_NO_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


@dataclass
class NumberedText(MarkedText):
    """A text whose marks are numbers."""

    def escape(self, text: str) -> str:
        """A part of a translation, without control characters; its format escapes it later."""
        return _NO_CHARACTER.sub(" ", text)


def as_number(number: int) -> str:
    """How a number is written."""
    return f"\x01{number}\x02"


def number_of(written: str) -> int | None:
    """The number that is written; None for anything else."""
    found = _NUMBER.fullmatch(written)
    return None if found is None else int(found[1])


def text_and_numbers(written: str) -> Iterator[str | int]:
    """A translation in text, none of it empty, and the numbers of its marks."""
    for index, part in enumerate(_NUMBER.split(written)):
        if index % 2:
            yield int(part)
        elif part:
            yield part
