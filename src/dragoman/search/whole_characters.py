"""Constraint to well-formed characters where text is spelt in bytes (``byte_fallback``).

The bytes of a character follow one another as the Unicode Standard requires (table 3-7,
well-formed UTF-8): no overlong form, no half of a surrogate pair, nothing beyond U+10FFFF, and
nothing else between them.  Characters that are not part of text are forbidden as well: control
characters, ends of lines, byte order marks, and U+FFFD, a decoder's mark of lost text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.search.constraints import PartialOutputs, Unbroken, some_probability
from dragoman.search.tag_structure import TagStructure
from dragoman.text.vocabularies import Vocabulary

_IMPOSSIBLE = float("-inf")
_BYTE = re.compile("<0x([0-9A-F]{2})>")
_OTHER = 256  # in place of a byte: any other piece
_NEVER = 9  # in place of a number of pieces
_LONGEST = 4  # bytes of a character

# The bytes that may follow in each state: first and last byte, and the state behind them.  The
# states are named by the bytes that led there; "more" and "last" are those of most characters.
_START = "start"
_GRAMMAR: dict[str, list[tuple[int, int, str]]] = {
    _START: [
        (0x20, 0x7E, _START),
        (0xC2, 0xC2, "C2"),
        (0xC3, 0xDF, "last"),
        (0xE0, 0xE0, "E0"),
        (0xE1, 0xE1, "more"),
        (0xE2, 0xE2, "E2"),
        (0xE3, 0xEC, "more"),
        (0xED, 0xED, "ED"),
        (0xEE, 0xEE, "more"),
        (0xEF, 0xEF, "EF"),
        (0xF0, 0xF0, "F0"),
        (0xF1, 0xF3, "F1"),
        (0xF4, 0xF4, "F4"),
    ],
    "last": [(0x80, 0xBF, _START)],
    "more": [(0x80, 0xBF, "last")],
    "C2": [(0xA0, 0xBF, _START)],  # below are control characters
    "E0": [(0xA0, 0xBF, "last")],
    "E2": [(0x80, 0x80, "E2 80"), (0x81, 0xBF, "last")],
    "E2 80": [(0x80, 0xA7, _START), (0xAA, 0xBF, _START)],  # between are ends of lines
    "ED": [(0x80, 0x9F, "last")],
    "EF": [
        (0x80, 0xBA, "last"),
        (0xBB, 0xBB, "EF BB"),
        (0xBC, 0xBE, "last"),
        (0xBF, 0xBF, "EF BF"),
    ],
    "EF BB": [(0x80, 0xBE, _START)],  # behind is the byte order mark
    "EF BF": [(0x80, 0xBC, _START)],  # U+FFFD and noncharacters follow
    "F0": [(0x90, 0xBF, "more")],
    "F1": [(0x80, 0xBF, "more")],
    "F4": [(0x80, 0x8F, "more")],
}
_STATES = list(_GRAMMAR)
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd\ufffe\uffff]")


def unwritable_pieces(vocabulary: Vocabulary) -> list[int]:
    """Ids of pieces with forbidden characters, which other toolkits' vocabularies contain."""
    pieces = vocabulary.pieces(range(len(vocabulary)))
    return [
        number
        for number, (piece, is_atom) in enumerate(zip(pieces, vocabulary.atoms, strict=True))
        if not is_atom and _UNWRITABLE.search(piece)
    ]


@dataclass(frozen=True)
class ByteSymbols:
    """The pieces of a vocabulary that are bytes."""

    values: Tensor  # (vocabulary,): the byte that a piece is, 256 for all others
    ids: Tensor  # (bytes,): the pieces that are bytes

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> ByteSymbols | None:
        """The byte symbols of a vocabulary; None if it has none."""
        if not vocabulary.has_bytes:
            return None
        pieces = vocabulary.pieces(range(len(vocabulary)))
        bytes_of = map(_BYTE.fullmatch, pieces)
        return cls._with(torch.tensor([int(byte[1], 16) if byte else _OTHER for byte in bytes_of]))

    @classmethod
    def _with(cls, values: Tensor) -> ByteSymbols:
        return cls(values, (values != _OTHER).nonzero().flatten())

    def to(self, device: torch.device) -> ByteSymbols:
        """A copy on a device."""
        return ByteSymbols(self.values.to(device), self.ids.to(device))

    def among(self, pieces: Tensor) -> ByteSymbols:
        """The byte symbols among a list of pieces, by their places in the list."""
        return self._with(self.values[pieces])

    def without_broken(self, ids: Sequence[int]) -> list[int]:
        """An output without the bytes that make up no character of text."""
        values = self.values.tolist()
        kept: list[int] = []
        waiting: list[int] = []  # bytes of a character that is not finished
        state = _START
        for piece in ids:
            byte = values[piece]
            following = _following(state, byte)
            if following is None and waiting:
                waiting, state = [], _START
                following = _following(state, byte)
            if following is None:
                continue
            waiting.append(piece)
            state = following
            if state == _START:
                kept += waiting
                waiting = []
        return kept


def _following(state: str, byte: int) -> str | None:
    """The state behind a byte or another piece; None if it may not follow."""
    if byte == _OTHER:
        return _START if state == _START else None
    return next((then for low, high, then in _GRAMMAR[state] if low <= byte <= high), None)


def _length(state: str) -> int:
    """The number of bytes that are missing until a character is finished."""
    length = 0
    while state != _START:
        state, length = _GRAMMAR[state][0][2], length + 1
    return length


@cache
def _tables() -> tuple[Tensor, Tensor]:
    """For each state and byte, ``(states, 257)``: the state behind it, and the pieces it needs."""
    behind = torch.zeros((len(_STATES), _OTHER + 1), dtype=torch.int64)
    needed = torch.full_like(behind, _NEVER)
    for row, state in enumerate(_STATES):
        for byte in range(_OTHER + 1):
            following = _following(state, byte)
            if following is not None:
                behind[row, byte] = _STATES.index(following)
                needed[row, byte] = 1 + _length(following)
            else:  # as if nothing had been in front, which only a forced output can do
                behind[row, byte] = _STATES.index(_following(_START, byte) or _START)
    needed[0, _OTHER] = 0  # has nothing to do with bytes
    return behind, needed


class WholeCharacters(Unbroken):
    """A constraint: every character spelt in bytes is finished, and part of text.

    A byte that continues a begun character always stays possible.  No character begins that does
    not fit within the maximum length.

    Args:
        symbols: the bytes of the vocabulary.
        limits: maximum output length of each sentence in pieces, ``(sentences,)``.
        tags: need room at the end.
    """

    def __init__(
        self, symbols: ByteSymbols, limits: Tensor, tags: TagStructure | None = None
    ) -> None:
        self._symbols, self._limits, self._tags = symbols, limits, tags
        self._behind, self._needed = (table.to(limits.device) for table in _tables())

    @override
    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        ids = self._symbols.ids
        states = self._states(partial)
        allowed = self._allowed(states, self._symbols.values[ids].unsqueeze(0), partial)
        values = scores[:, ids].masked_fill(~allowed, _IMPOSSIBLE)
        scores[:, ids] = values
        within = states.nonzero().flatten()
        if len(within):
            values, allowed = values[within], allowed[within]
            finite = values.isfinite()
            lost = ~finite.any(1, keepdim=True)  # others have forbidden the required bytes
            values = torch.where(finite | lost, some_probability(values), _IMPOSSIBLE)
            scores.index_fill_(0, within, _IMPOSSIBLE)
            scores[within.unsqueeze(1), ids] = values.masked_fill(~allowed, _IMPOSSIBLE)

    @override
    def breaks(self, pieces: Tensor, partial: PartialOutputs) -> Tensor:
        values = self._symbols.values[pieces]
        return ~self._allowed(self._states(partial), values, partial)

    def _states(self, partial: PartialOutputs) -> Tensor:
        """The state of each row, ``(rows,)``: 0 if its last character is finished."""
        recent = self._symbols.values[partial.history[:, 1 - _LONGEST :]]  # (rows, 3 at most)
        states = torch.zeros_like(partial.sentences)
        for values in recent.unbind(1):
            states = self._behind[states, values]
        return states

    def _allowed(self, states: Tensor, values: Tensor, partial: PartialOutputs) -> Tensor:
        """Whether bytes, or other pieces, may come next, ``(rows, values)``."""
        room = self._limits[partial.sentences] - partial.length
        if self._tags is not None:
            room = room - self._tags.missing(partial)
        room = room.clamp(0, _LONGEST).masked_fill(states > 0, _LONGEST)  # a character goes on
        return self._needed[states.unsqueeze(1), values] <= room.unsqueeze(1)
