"""Words of a sentence, for embeddings of words and translation word by word."""

from __future__ import annotations

import regex

# Letters, marks and digits, joined by a sign between two of them as in "don't", "T-Shirt"
# and "3.5". Any other sign is a separate word.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’.,:\-][\p{L}\p{M}\p{N}]+)*|[^\s]")
_BETWEEN_SPACES = regex.compile(r"\S+")
_LETTER = regex.compile(r"\p{L}")


def words(text: str) -> list[str]:
    """The words and signs of a normalised text, in their order.

    Scripts without spaces between words give whole phrases. Split such text first, or use pieces of
    a vocabulary.
    """
    found: list[str] = _WORD.findall(text)
    return found


def is_word(token: str) -> bool:
    """Whether a token has letters. Numbers and signs are the same in most languages."""
    return _LETTER.search(token) is not None


def word_spans(text: str) -> list[tuple[int, int]]:
    """Start and end in ``text`` of each of :func:`words`."""
    return [found.span() for found in _WORD.finditer(text)]


def space_spans(text: str) -> list[tuple[int, int]]:
    """Start and end in ``text`` of each string between spaces."""
    return [found.span() for found in _BETWEEN_SPACES.finditer(text)]
