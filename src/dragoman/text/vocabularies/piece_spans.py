"""Positions of pieces in their line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies.vocabulary import Vocabulary

_BYTE = re.compile("<0x([0-9A-F]{2})>")
_CONTINUES = range(0x80, 0xC0)
"""Bytes of UTF-8 that continue a character."""

Span = tuple[int, int]
"""Start and end in characters; the end is not included."""


def as_split(vocabulary: Vocabulary, line: str) -> str:
    """A line as its pieces spell it, after all normalisation, including that of the vocabulary."""
    return vocabulary.normalized(line).replace(SPACE_SIGN, " ").strip()


def piece_spans(vocabulary: Vocabulary, tagged: str, line: str) -> list[Span]:
    """The range in ``line`` of each piece of ``tagged``; spaces have no place.

    Args:
        tagged: ``line``, perhaps with tags and context in front, which get empty spans.
        line: as :func:`as_split` returns it.
    """
    pieces = vocabulary.surfaces(tagged)
    lengths = [_characters(piece) for piece in pieces]
    place = len(line) - sum(lengths)
    spans = []
    for piece, length in zip(pieces, lengths, strict=True):
        inner = place + length - len(piece.lstrip(SPACE_SIGN)) if length else place
        start = inner if piece.startswith(SPACE_SIGN) else place
        place += length
        spans.append((max(0, start), max(0, place)))
    return spans


def words_at(spans: Sequence[Span], words: Sequence[Span]) -> list[int]:
    """The word with most characters of each piece, or -1."""
    found = []
    for start, end in spans:
        shared = [min(end, stop) - max(start, begin) for begin, stop in words]
        best = max(range(len(words)), key=lambda i: shared[i], default=-1)
        found.append(best if best >= 0 and shared[best] > 0 else -1)
    return found


def _characters(piece: str) -> int:
    """Number of characters of a piece; a byte counts if it begins a character."""
    if (byte := _BYTE.fullmatch(piece)) is not None:
        return int(int(byte[1], 16) not in _CONTINUES)
    return len(piece)
