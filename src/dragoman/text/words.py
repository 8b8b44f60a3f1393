"""Words of a sentence, for embeddings of words and translation word by word."""

from __future__ import annotations

import regex

# Letters, marks and digits, held together by a sign between two of them as in "don't", "T-Shirt"
# and "3.5"; any other sign is a word by itself.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’.,:\-][\p{L}\p{M}\p{N}]+)*|[^\s]")
_BETWEEN_SPACES = regex.compile(r"\S+")
_LETTER = regex.compile(r"\p{L}")


def words(text: str) -> list[str]:
    """The words and signs of a normalised text, in their order.

    Scripts without spaces between words give whole phrases; split such text first, or use pieces
    of a vocabulary.
    """
    found: list[str] = _WORD.findall(text)
    return found


def is_word(token: str) -> bool:
    """Whether a token has letters: a number or a sign is the same in most languages."""
    return _LETTER.search(token) is not None


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each of :func:`words` begins and ends in ``text``."""
    return [found.span() for found in _WORD.finditer(text)]


def space_spans(text: str) -> list[tuple[int, int]]:
    """Where whatever stands between spaces begins and ends in ``text``."""
    return [found.span() for found in _BETWEEN_SPACES.finditer(text)]
