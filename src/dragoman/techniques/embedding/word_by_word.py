"""Translation word by word: each word by the nearest word of the other language."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from dragoman.core.errors import DataError
from dragoman.techniques.embedding.accuracy import by_case, check_dimensions
from dragoman.techniques.embedding.nearest_vectors import NEIGHBOURS, nearest, neighbourhood, unit
from dragoman.text.normalization import normalize
from dragoman.text.tokens import is_word, word_spans
from dragoman.text.word_vectors import WordVectors

_LINES = 1000  # whose new words are looked up together


class WordByWord:
    """Translates lines word by word, by CSLS; order and spacing stay unchanged.

    Lines are normalised first, so that any run of white space is one space.  Numbers, signs and
    words without a vector in any case are copied.

    Args:
        source: mapped vectors of words of the source language.
        target: mapped vectors of words of the target language.
        spans: locates the words of a line as for the source's vectors.
        neighbours: k of CSLS.

    Raises:
        DataError: the dimensions differ, or the target has no words.
    """

    def __init__(
        self,
        source: WordVectors,
        target: WordVectors,
        spans: Callable[[str], list[tuple[int, int]]] = word_spans,
        neighbours: int = NEIGHBOURS,
    ) -> None:
        check_dimensions(source, target)
        rows = [row for row, word in enumerate(target.words) if is_word(word)]
        if not rows:
            raise DataError("the target's vectors are of no words; give those of another file")
        self._spans = spans
        self._source, self._words = source, [target.words[row] for row in rows]
        self._x, self._z = unit(source.matrix), unit(target.matrix[rows])
        self._hubness = neighbourhood(self._z, self._x, neighbours)
        self._known: dict[int, str] = {}
        self._by_case = by_case(source)

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Translations of lines, in their order; an empty line gives an empty line."""
        remaining = iter(lines)
        while block := [normalize(line) for line in itertools.islice(remaining, _LINES)]:
            split = [
                [(span, self._row(line[slice(*span)])) for span in self._spans(line)]
                for line in block
            ]
            self._look_up({row for found in split for _, row in found if row is not None})
            for line, found in zip(block, split, strict=True):
                yield self._replaced(line, found)

    def _row(self, token: str) -> int | None:
        """The row of a word, as written or else in another case."""
        if not is_word(token):
            return None
        forms = (token, token.lower(), token.capitalize())
        exact = (self._source.index[one] for one in forms if one in self._source.index)
        return next(exact, self._by_case.get(token.casefold()))

    def _look_up(self, rows: set[int]) -> None:
        new = sorted(rows - self._known.keys())
        if new:
            found, _ = nearest(self._x[np.array(new)], self._z, 1, self._hubness)
            self._known |= {row: self._words[best] for row, (best,) in zip(new, found, strict=True)}

    def _replaced(self, line: str, found: list[tuple[tuple[int, int], int | None]]) -> str:
        parts, done = [], 0
        for (start, end), row in found:
            if row is not None:
                parts += [line[done:start], self._known[row]]
                done = end
        return "".join([*parts, line[done:]])
