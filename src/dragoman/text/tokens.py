"""Words of a line with their positions, for alignment and for terms.

A word is letters, digits and marks, with apostrophes and hyphens inside, or a name such as "C++" or
"C#". In scripts without spaces, every character is a word.  Placeholders such as ``{name}`` and
``%s`` are whole, and every other character is separate.
"""

from __future__ import annotations

from typing import NamedTuple

import regex

from dragoman.text.tags import TAG
from dragoman.text.word_edges import UNSPACED

_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]"
_WORD = regex.compile(
    rf"(?V1)(?P<opaque>{TAG.pattern}|\{{+[^{{}}\s]*\}}+|%\(\w+\)[a-z]|%[a-zA-Z0-9$]+"
    # without the text that follows them where there are no spaces
    rf"|\$[a-zA-Z0-9_]+|[a-zA-Z0-9_]+://[^\s{UNSPACED}\p{{Hangul}}\u3000-\u303f\uff00-\uffef]+)"
    rf"|(?P<word>[{UNSPACED}]\p{{M}}*|{_LETTERS}+(?:['’\-]{_LETTERS}+)*"
    rf"(?:(?:\+\+|(?<=\b[A-Z])\#)(?![+\#]|{_LETTERS}))?)"
    r"|(?P<other>\S)"
)
_LETTER = regex.compile(r"\p{L}")


class Word(NamedTuple):
    """A word of a line."""

    text: str
    start: int
    """Position of its first character in the line."""
    end: int
    """Position after its last character."""
    is_word: bool
    """Whether it has a letter, and is not a placeholder."""

    @property
    def key(self) -> str:
        """The word with its case folded."""
        return self.text.casefold()


def words_of(line: str) -> list[Word]:
    """The words of a line, and everything between them except spaces."""
    return [
        Word(
            found[0],
            found.start(),
            found.end(),
            found["word"] is not None and _LETTER.search(found[0]) is not None,
        )
        for found in _WORD.finditer(line)
    ]
