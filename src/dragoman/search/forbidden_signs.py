"""Signs that an output may have only in the phrases that it must contain.

A program's strings begin with signs such as ``{``, ``%`` and ``<``.  If neither the words of the
source nor any phrase has such a sign, no piece with it may come next.  Then an output can neither
invent such a string nor write half of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.search.constraints import Constraint, PartialOutputs
from dragoman.text.vocabularies import Vocabulary

CODE_SIGNS = "{}<>%$&[]@"
"""Signs of the strings that programs read; an address without ``@`` has one of the next."""
_ADDRESS = re.compile(r"//|www")
DIGITS = "0123456789"
_SIGNS = {sign: 1 << place for place, sign in enumerate((*CODE_SIGNS, "//", *DIGITS))}
_BYTE = re.compile("<0x([0-9A-F]{2})>")


def signs_in(text: str) -> int:
    """The signs of a text, as the sum of a power of two for each."""
    found = _SIGNS["//"] if _ADDRESS.search(text) else 0
    for character in set(text):
        plain = character
        if character.isdecimal() and not character.isascii():
            plain = str(unicodedata.decimal(character))
        found |= _SIGNS.get(plain, 0)
    return found


ALL_CODE_SIGNS = sum(_SIGNS[one] for one in (*CODE_SIGNS, "//"))
ALL_DIGITS = sum(_SIGNS[one] for one in DIGITS)


class PieceSigns:
    """The signs of each piece of a vocabulary; pieces between words, such as tags, have none."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        pieces = vocabulary.pieces(range(len(vocabulary)))
        self.of_piece = [
            signs_in(_surface(piece, is_atom))
            for piece, is_atom in zip(pieces, vocabulary.atoms, strict=True)
        ]
        """Signs by id."""

    @cached_property
    def codes(self) -> frozenset[int]:
        """The pieces with a sign of :data:`CODE_SIGNS` or of an address."""
        return frozenset(
            number for number, signs in enumerate(self.of_piece) if signs & ALL_CODE_SIGNS
        )

    def forbidding(self, signs: Iterable[int], device: torch.device) -> ForbiddenSigns:
        """A constraint that forbids the given signs in the output of each sentence."""
        ids = [number for number, own in enumerate(self.of_piece) if own]
        lists = ids, [self.of_piece[number] for number in ids], list(signs)
        return ForbiddenSigns(
            *(torch.tensor(one, dtype=torch.int64, device=device) for one in lists)
        )


def _surface(piece: str, is_atom: bool) -> str:
    """The text of a piece; a piece for a byte is its character."""
    if not is_atom:
        return piece
    byte = _BYTE.fullmatch(piece)
    return "" if byte is None else chr(int(byte[1], 16))


@dataclass(frozen=True)
class ForbiddenSigns(Constraint):
    """No piece with a sign that is forbidden in the output of its sentence."""

    ids: Tensor  # (signed pieces,)
    signs: Tensor  # (signed pieces,): the signs of each
    forbidden: Tensor  # (sentences,): the signs forbidden in each

    @override
    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        forbidden = self.forbidden[partial.sentences].unsqueeze(1) & self.signs  # (rows, signed)
        values = scores[:, self.ids]
        scores[:, self.ids] = values.masked_fill(forbidden != 0, float("-inf"))

    def pieces(self) -> list[frozenset[int]]:
        """The forbidden pieces of each sentence."""
        signed = list(zip(self.ids.tolist(), self.signs.tolist(), strict=True))
        found: dict[int, frozenset[int]] = {}
        for signs in self.forbidden.tolist():
            if signs not in found:
                found[signs] = frozenset(piece for piece, own in signed if own & signs)
        return [found[signs] for signs in self.forbidden.tolist()]
