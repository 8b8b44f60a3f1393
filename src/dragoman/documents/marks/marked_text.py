"""A text with marks: what stays of the markup of a sentence when its tags are taken out."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from typing_extensions import override

Range = tuple[int, int]
"""Start and end, half-open, in characters."""
RESERVED = re.compile("[\x01-\x04]")
"""Signs that enclose numbers.  Text that has them is not read."""
KEPT_SPACE, KEPT_BREAK = "\x03", "\x04"
"""Stand for white space within markup, where no line is broken."""
MOST_MARKS = 100
"""In a text.  Placing marks takes time that grows with their number."""

_NUMBER = re.compile("\x01([0-9]+)\x02")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


@dataclass
class Mark:
    """Markup around words of a text, or between them."""

    begin: str
    """Written in front: a start tag, or all of a point or an atom."""
    end: str
    """Written behind: an end tag."""
    start: int
    """In characters of the text."""
    stop: int
    """After its last character."""
    children: list[Mark] = field(default_factory=list)
    """Marks within, in order."""
    is_atom: bool = False
    """Whether the text within is copied: ``begin`` is written instead of it."""
    is_text: bool = False
    """Whether ``begin`` is text, such as a placeholder, which is escaped as all text is."""
    is_point: bool = False
    """Whether it is between words: ``start`` is ``stop``."""
    opens_before: bool = False
    """Whether it begins before the text does: ``begin`` is empty."""
    closes_after: bool = False
    """Whether it ends after the text does: ``end`` is empty."""
    before: str = ""
    """White space in front of a point, as it is written."""
    after: str = ""
    """White space behind it."""


@dataclass
class MarkedText:
    """A text to translate, without markup, and its marks."""

    text: str
    """Without white space at its ends."""
    marks: list[Mark]
    """The outermost ones, in order."""
    lead: str = ""
    """White space in front, as it is written."""
    tail: str = ""
    gaps: dict[int, str] = field(default_factory=dict)
    """White space that is one space in the text: how it is written, by its place."""
    no_break: str = "\u00a0"
    """How a no-break space is written."""
    references: dict[str, str] = field(default_factory=dict)
    """How marks of direction are written, if not as themselves."""

    @property
    def kept(self) -> list[str]:
        """Parts of the text that the translation must have unchanged."""
        atoms = [mark for mark in walk(self.marks) if mark.is_atom]
        return list(dict.fromkeys(self.text[atom.start : atom.stop] for atom in atoms))

    @property
    def needs_links(self) -> bool:
        """Whether it matters which words translate which."""
        end = len(self.text)
        return any(
            mark.start not in (0, end) if mark.is_point else (mark.start, mark.stop) != (0, end)
            for mark in walk(self.marks)
        )

    @property
    def is_crowded(self) -> bool:
        """Whether it has more than :data:`MOST_MARKS`."""
        return sum(1 for _ in walk(self.marks)) > MOST_MARKS

    def escape(self, text: str) -> str:
        """A part of a translation as it is written in markup."""
        text = escaped(text).replace("\u00a0", self.no_break)
        for character, written in self.references.items():
            text = text.replace(character, written)
        return text


@dataclass
class PageText(MarkedText):
    """A text of a page or of XML, whose characters are written as they were.

    Args:
        raw: all of it as it was written.  Also the result of a translation that changes nothing.
        written: the notation of characters that have several, and of an ampersand in front of a
            space.
    """

    raw: str = ""
    written: dict[str, str] = field(default_factory=dict)

    @override
    def escape(self, text: str) -> str:
        written = {sign: raw for sign, raw in self.written.items() if len(sign) == 1}
        table = str.maketrans(_ESCAPES | {"\u00a0": self.no_break} | written)
        escaped = _NO_CHARACTER.sub("\ufffd", text).translate(table)
        return _LONE_AMPERSAND.sub("&", escaped) if "& " in self.written else escaped


def written_characters(raw: str) -> dict[str, str]:
    """Characters that a markup without tags always writes in one unusual way, and that way."""
    references = {found: html.unescape(found) for found in set(_REFERENCE.findall(raw))}
    plain = _REFERENCE.sub("", raw)
    kept = {
        sign: found
        for found, sign in sorted(references.items(), reverse=True)
        if len(sign) == 1 and sign not in plain
    }
    if "& " in plain and "&" not in references.values():
        kept["& "] = "& "
    if ">" in plain and ">" not in references.values():
        kept[">"] = ">"
    return kept


def walk(marks: Sequence[Mark]) -> Iterator[Mark]:
    """All marks, each in front of those within it."""
    waiting = list(reversed(marks))
    while waiting:
        mark = waiting.pop()
        yield mark
        waiting.extend(reversed(mark.children))


# What neither HTML nor XML may have, and what UTF-8 cannot hold.
_NO_CHARACTER = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});")
_LONE_AMPERSAND = re.compile(r"&amp;(?=\s)")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escaped(text: str) -> str:
    """A text as it is written in HTML and XML, where none of it is markup."""
    return html.escape(_NO_CHARACTER.sub("\ufffd", text), quote=False)


@dataclass
class NumberedText(MarkedText):
    """A text whose marks are numbers."""

    def escape(self, text: str) -> str:
        """A part of a translation, without control characters.  Its format escapes it later."""
        return _CONTROL_CHARACTER.sub(" ", text)


def as_number(number: int) -> str:
    """How a number is written."""
    return f"\x01{number}\x02"


def number_of(written: str) -> int | None:
    """The number that is written, or None for anything else."""
    found = _NUMBER.fullmatch(written)
    return None if found is None else int(found[1])


def text_and_numbers(written: str) -> Iterator[str | int]:
    """A translation in text, none of it empty, and the numbers of its marks."""
    for index, part in enumerate(_NUMBER.split(written)):
        if index % 2:
            yield int(part)
        elif part:
            yield part
