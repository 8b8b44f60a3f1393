"""Counts the target pieces that translate each source piece, in aligned pairs.

The pieces of pairs are aligned like words (:mod:`dragoman.text.word_alignment`), about ten thousand
pairs at a time, so that a stream of any length needs little memory. Only one number remains for
each likely combination of pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from dragoman.text.word_alignment import expected_links

Ids = Sequence[int]
Ints = npt.NDArray[np.int64]

_CELLS_AT_ONCE = 10_000_000
"""Source times target pieces of the pairs that are aligned together, which takes half a GiB."""
_LEAST_COUNT = 0.01
"""Minimum expected count of a combination in all pairs aligned together."""


@dataclass(frozen=True)
class PieceTable:
    """Pieces of the target for each piece of the source, likeliest first."""

    starts: Ints
    """Index of the first target piece of each source piece, and the end of the last one's:
    ``(source + 1,)``."""
    pieces: Ints
    """Target pieces, grouped by source piece."""

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[int]]) -> PieceTable:
        """The table with a list of target pieces for each source piece."""
        pieces = np.array(list(chain.from_iterable(lists)), np.int64)
        return cls(np.cumsum([0, *map(len, lists)]), pieces)

    def of(self, piece: int) -> Ints:
        """The target pieces of a source piece."""
        return self.pieces[self.starts[piece] : self.starts[piece + 1]]


class PieceLinks:
    """Counts links between pieces of vocabularies of two sizes, and the pieces of targets."""

    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = source, target
        self._keys: Ints = np.zeros(0, np.int64)
        self._counts: npt.NDArray[np.float64] = np.zeros(0)
        self._frequencies = np.zeros(target, np.int64)
        self.pairs = 0
        """Number of pairs counted so far."""

    def add(self, pairs: Iterable[tuple[Ids, Ids]]) -> None:
        """Counts the links of further pairs."""
        for chunk in _chunks(pairs):
            makers, made, counts = expected_links(chunk)
            likely = counts >= _LEAST_COUNT
            self._merge(makers[likely] * self._target + made[likely], counts[likely])
            for _, target in chunk:
                np.add.at(self._frequencies, np.asarray(target, np.int64), 1)
            self.pairs += len(chunk)

    def _merge(self, keys: Ints, counts: npt.NDArray[np.float64]) -> None:
        counts = np.concatenate([self._counts, counts])
        self._keys, places = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        self._counts = np.bincount(places, counts, len(self._keys)).astype(np.float64)

    def likeliest(self, count: int) -> PieceTable:
        """The ``count`` target pieces with the highest expected counts for each source piece.

        Of equal counts, the lowest id comes first.
        """
        makers = self._keys // self._target
        order = np.lexsort((self._keys, -self._counts, makers))
        makers, made = makers[order], self._keys[order] % self._target
        begins = np.searchsorted(makers, np.arange(self._source + 1))
        kept = np.arange(len(makers)) - begins[makers] < count
        sizes = np.bincount(makers[kept], minlength=self._source)
        return PieceTable(np.concatenate([[0], np.cumsum(sizes)]), made[kept])

    def frequent(self, count: int) -> Ints:
        """The ``count`` most frequent pieces of targets, followed by those that do not occur."""
        return np.argsort(-self._frequencies, kind="stable")[:count]


def _chunks(pairs: Iterable[tuple[Ids, Ids]]) -> Iterator[list[tuple[Ids, Ids]]]:
    """Pairs in groups of bounded size; those with an empty side are left out."""
    chunk: list[tuple[Ids, Ids]] = []
    cells = 0
    for source, target in pairs:
        if not (len(source) and len(target)):
            continue
        chunk.append((source, target))
        cells += len(source) * len(target)
        if cells >= _CELLS_AT_ONCE:
            yield chunk
            chunk, cells = [], 0
    if chunk:
        yield chunk
