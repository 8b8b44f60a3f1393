"""A part of the content of a paragraph of an office document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dragoman.documents.office.paragraph import Parts, RunFormat

ItemKind = Literal[
    "text", "open", "close", "point", "atom", "edge", "begin", "end", "field", "instruction"
]


@dataclass
class Item:
    """A part of the content of a paragraph."""

    kind: ItemKind
    """Words; start and end tags around words; a point between words; an atom, copied as a word; an
    edge of a text; the begin and the end of a range; and the parts of a field."""
    parts: Parts
    """As it is written; of words, in XML without tags."""
    owner: int
    """The element around it: 0, or the number that its ``open`` has."""
    text: str = ""
    """Of an atom; the text of a field; the identifier that the ends of a range share."""
    format: RunFormat | None = None
    number: int = 0
    """The same number in ``open`` and ``close`` of a pair; 0 in all others."""
    is_span: bool = False
    """Whether it is only a format."""
    is_shown: bool = False
    """Whether a point takes a place in the line, as words do."""
    is_ordered: bool = False
    """Whether it must stay behind ordered items in front of it: an end of a range."""

    @property
    def is_white(self) -> bool:
        """Whether it is white space between words."""
        return self.kind == "text" and not str(self.parts[0]).strip(" ")
