"""Translation of words by mapped vectors: of whole lines, and measured with a dictionary.

Mikolov et al. 2013, arXiv:1309.4168.  Each word becomes the nearest word of the other language.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.core.errors import DataError
from dragoman.techniques.embedding.nearest_vectors import NEIGHBOURS, nearest, neighbourhood, unit
from dragoman.text.normalization import normalize
from dragoman.text.tokens import is_word, word_spans
from dragoman.text.word_vectors import WordVectors

_ANSWERS = 5
_LINES = 1000  # whose new words are looked up together


@dataclass(frozen=True)
class Precision:
    """Percentages of the words that were looked up."""

    p1: float
    """The first answer is in the dictionary."""
    p5: float
    """Any of the first five answers is in the dictionary."""


@dataclass(frozen=True)
class WordAccuracy:
    """Word translations measured with a dictionary."""

    csls: Precision
    """The answers nearest by CSLS."""
    nearest: Precision
    """The answers nearest by cosine."""
    asked: int
    """Number of words looked up: the most frequent words."""
    answerable: int
    """Words of the dictionary with a vector that also have a translation with a vector."""
    known: int
    """Words of the dictionary that have a vector."""


def word_accuracy(
    source: WordVectors,
    target: WordVectors,
    dictionary: Mapping[str, Sequence[str]],
    name: str,
    *,
    maximum: int | None = None,
    neighbours: int = NEIGHBOURS,
) -> WordAccuracy:
    """Translate the words of a dictionary and count correct translations.

    Case is ignored: a word of the dictionary is the most frequent word that differs only in case.
    The most frequent words are looked up, at most ``maximum``.
    """
    check_dimensions(source, target)
    rows, known = by_case(source), by_case(target)
    expected: dict[int, set[str]] = {}
    for word, translations in dictionary.items():
        if (row := rows.get(word.casefold())) is not None:
            expected.setdefault(row, set()).update(map(str.casefold, translations))
    answerable = sorted(row for row, words in expected.items() if words & known.keys())
    if not answerable:
        raise DataError(
            f"{name}: {len(expected):,} of its words have a vector, and none of these has a "
            "translation with one; are its two columns the languages of the two files, in their "
            "order?"
        )
    asked = answerable[:maximum]
    x, z = unit(source.matrix), unit(target.matrix)
    hubness = neighbourhood(z, x, neighbours)

    def precision(hubness: np.ndarray | None) -> Precision:
        answers, _ = nearest(x[asked], z, _ANSWERS, hubness)
        right = np.array(
            [
                [target.words[best].casefold() in expected[row] for best in nearest_rows]
                for row, nearest_rows in zip(asked, answers, strict=True)
            ]
        )
        return Precision(100 * float(right[:, 0].mean()), 100 * float(right.any(axis=1).mean()))

    return WordAccuracy(
        precision(hubness), precision(None), len(asked), len(answerable), len(expected)
    )


class WordByWord:
    """Translates lines word by word, by CSLS; order and spacing stay unchanged.

    Lines are normalised first, so that any run of white space is one space.  Numbers, signs and
    words without a vector in any case are copied.

    Args:
        source: mapped vectors of words of the source language.
        target: mapped vectors of words of the target language.
        spans: locates the words of a line as for the source's vectors.
        neighbours: k of CSLS.
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
            self._look_up({row for words in split for _, row in words if row is not None})
            for line, words in zip(block, split, strict=True):
                yield self._replaced(line, words)

    def _row(self, token: str) -> int | None:
        """The row of a word, as written or else in another case."""
        if not is_word(token):
            return None
        forms = (token, token.lower(), token.capitalize())
        exact = (self._source.index[form] for form in forms if form in self._source.index)
        return next(exact, self._by_case.get(token.casefold()))

    def _look_up(self, rows: set[int]) -> None:
        new = sorted(rows - self._known.keys())
        if new:
            nearest_rows, _ = nearest(self._x[np.array(new)], self._z, 1, self._hubness)
            translations = (self._words[best] for (best,) in nearest_rows)
            self._known |= dict(zip(new, translations, strict=True))

    def _replaced(self, line: str, words: list[tuple[tuple[int, int], int | None]]) -> str:
        parts, done = [], 0
        for (start, end), row in words:
            if row is not None:
                parts += [line[done:start], self._known[row]]
                done = end
        return "".join([*parts, line[done:]])


def check_dimensions(source: WordVectors, target: WordVectors) -> None:
    """Refuse vectors of different dimensions, which cannot be compared."""
    if source.dimension != target.dimension:
        raise DataError(
            f"the source has vectors of dimension {source.dimension}, the target of "
            f"{target.dimension}; train both with the same --dimension"
        )


def by_case(vectors: WordVectors) -> dict[str, int]:
    """The row of the most frequent word in each spelling without case."""
    rows: dict[str, int] = {}
    for row, word in enumerate(vectors.words):
        rows.setdefault(word.casefold(), row)
    return rows
