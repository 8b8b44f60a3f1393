"""Words of a line, by two definitions.

:func:`words_of` is for alignment and for terms: a word is letters, digits and marks, with
apostrophes and hyphens inside, or a name such as "C++" or "C#". In scripts without spaces, every
character is a word.  Placeholders such as ``{name}`` are whole, and every other character is
separate.  :func:`words` is for embeddings of words and translation word by word.
"""

from __future__ import annotations

from typing import NamedTuple

import regex

from dragoman.text.tags import TAG
from dragoman.text.word_edges import UNSPACED

_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]"
_TOKEN = regex.compile(
    rf"(?V1)(?P<opaque>{TAG.pattern}|\{{+[^{{}}\s]*\}}+|%\(\w+\)[a-z]|%[a-zA-Z0-9$]+"
    # without the text that follows them where there are no spaces
    rf"|\$[a-zA-Z0-9_]+|[a-zA-Z0-9_]+://[^\s{UNSPACED}\p{{Hangul}}\u3000-\u303f\uff00-\uffef]+)"
    rf"|(?P<word>[{UNSPACED}]\p{{M}}*|{_LETTERS}+(?:['’\-]{_LETTERS}+)*"
    rf"(?:(?:\+\+|(?<=\b[A-Z])\#)(?![+\#]|{_LETTERS}))?)"
    r"|(?P<other>\S)"
)
# Letters, marks and digits, joined by a sign between two of them as in "don't", "T-Shirt"
# and "3.5". Any other sign is a separate word.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’.,:\-][\p{L}\p{M}\p{N}]+)*|[^\s]")
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
        Word(found[0], *found.span(), found["word"] is not None and is_word(found[0]))
        for found in _TOKEN.finditer(line)
    ]


def is_word(token: str) -> bool:
    """Whether a token has letters. Numbers and signs are the same in most languages."""
    return _LETTER.search(token) is not None


def words(text: str) -> list[str]:
    """The words and signs of a normalised text, in their order.

    Scripts without spaces between words give whole phrases. Split such text first, or use pieces of
    a vocabulary.
    """
    return [text[start:end] for start, end in word_spans(text)]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Start and end in ``text`` of each of :func:`words`."""
    return [found.span() for found in _WORD.finditer(text)]


def space_spans(text: str) -> list[tuple[int, int]]:
    """Start and end in ``text`` of each string between spaces."""
    return [found.span() for found in regex.finditer(r"\S+", text)]
