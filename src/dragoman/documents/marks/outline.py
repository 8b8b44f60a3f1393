"""An outline of a document: what of its blocks has to be the same in a translation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dragoman.documents.marks.marked_text import MarkedText, walk


@dataclass(frozen=True)
class OutlineBlock:
    """A part of a document of which a translation may change the words alone.

    It is a paragraph, a cell, a value, a cue, or a tag between two paragraphs.
    """

    codes: Sequence[str] = ()
    """Markup: tags, addresses, code, formats of runs, as it is written.  Their order within a block
    may change."""
    text: str = ""
    """Its words, as people or programs read them."""
    kept: Sequence[str] = ()
    """Placeholders and the like: a translation has each in its ``text`` at least as often."""
    texts: Sequence[int] = ()
    """Indices of the texts of the document that are in it.  Not compared."""

    def is_kept_in(self, other: OutlineBlock) -> bool:
        """Whether a block of a translation has what it should have of this one."""
        if len(self.codes) != len(other.codes):
            return False
        if tuple(self.codes) != tuple(other.codes) and Counter(self.codes) != Counter(other.codes):
            return False
        kept = Counter(self.kept)
        return all(other.text.count(one) >= number for one, number in kept.items())


def placeholders_of(texts: Iterable[MarkedText]) -> list[str]:
    """The placeholders, addresses and the like of some texts, as they are written."""
    return [
        mark.begin for text in texts for mark in walk(text.marks) if mark.is_atom and mark.is_text
    ]
