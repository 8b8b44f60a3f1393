"""Vectors of words or pieces in word2vec's text format, shared by fastText, GenSim and VecMap.

The first line has the number of vectors and their dimension. Each further line has a word and its
vector, the most frequent word first (Mikolov et al. 2013, arXiv:1301.3781; their program's text
output).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.text.lines import decode_lines, open_bytes, write_text

Matrix = NDArray[np.float32]

_LARGEST = 100_000, 10**9  # dimensions and vectors; a larger header belongs to another kind of file
_LOOKED_AT = 10  # lines by which the dimension is checked
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_DIGITS = ".6g"  # a float32 read from six digits is written as the same digits


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words, the most frequent first, and their vectors.

    Args:
        words: distinct, not empty, without white space.
        matrix: ``(words, dimension)``, finite.
    """

    words: tuple[str, ...]
    matrix: Matrix
    index: dict[str, int] = field(init=False, repr=False)
    """The row of each word."""

    def __post_init__(self) -> None:
        assert len(self.words) == len(self.matrix)
        object.__setattr__(self, "index", {word: row for row, word in enumerate(self.words)})
        assert len(self.index) == len(self.words)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return int(self.matrix.shape[1])

    def with_matrix(self, matrix: Matrix) -> WordVectors:
        """The same words with other vectors."""
        return WordVectors(self.words, matrix)


def read_header(path: Path | str) -> tuple[int, int]:
    """The number of vectors in a file, and their dimension."""
    with open_bytes(path) as stream:
        return _header(next(decode_lines(stream, str(path)), ""), path)


def each_vector(
    path: Path | str, *, maximum: int | None = None, wanted: Collection[str] | None = None
) -> Iterator[tuple[int, str, Matrix]]:
    """Yields the vectors of a file, compressed or not.

    Args:
        maximum: number of words to read, the most frequent first; by default, all.

    Yields:
        The word's place in the file (from 1), the word, and its vector ``(dimension,)``.

    Raises:
        DataError: the file is missing, damaged or of another kind, or a line is not a word and
            finite numbers.
    """
    with open_bytes(path) as stream:
        lines = decode_lines(stream, str(path))
        count, dimension = _header(next(lines, ""), path)
        stop = count if maximum is None else min(count, maximum)
        read, first = 0, list(itertools.islice(lines, min(stop, _LOOKED_AT)))
        _check_dimension(first, dimension, path)
        given = itertools.chain(first, itertools.islice(lines, stop - len(first)))
        for read, line in enumerate(given, 1):
            word, values = _split(line, dimension, path, read + 1)
            if wanted is None or word in wanted:
                yield read, word, _vector(values, path, read + 1)
    if read < stop:
        raise DataError(
            f"{path}: the first line promises {count} vectors, found {read}; copy the file again"
        )


def read_vectors(path: Path | str, *, maximum: int | None = None) -> WordVectors:
    """Reads a file of vectors, compressed or not.

    Raises:
        DataError: a word occurs twice, or an error of :func:`each_vector`.
    """
    kept: dict[str, Matrix] = {}
    for place, word, vector in each_vector(path, maximum=maximum):
        if word in kept:
            raise DataError(f"{path}:{place + 1}: {word!r:.40} is there twice; remove one")
        kept[word] = vector
    return WordVectors(tuple(kept), np.array(list(kept.values()), dtype=np.float32))


def write_vectors(path: Path, vectors: WordVectors) -> None:
    """Writes vectors with six digits, compressed if the suffix says so (``.gz``)."""
    row_format = " ".join([f"%{_DIGITS}"] * vectors.dimension)
    with write_text(path) as stream:
        stream.write(f"{len(vectors)} {vectors.dimension}\n")
        for word, row in zip(vectors.words, vectors.matrix, strict=True):
            stream.write(f"{word} {row_format % tuple(row.tolist())}\n")


def _header(line: str, path: Path | str) -> tuple[int, int]:
    fields = line.split()
    if len(fields) == 2 and all(re.fullmatch("[0-9]{1,10}", one) for one in fields):
        count, dimension = map(int, fields)
        if 0 < dimension <= _LARGEST[0] and 0 < count <= _LARGEST[1]:
            return count, dimension
    raise DataError(
        f"{path}:1: expected the number of vectors and their dimension, such as '20000 300', found "
        f"{line!r:.40}; vectors are read in word2vec's text format"
    )


def _check_dimension(lines: list[str], dimension: int, path: Path | str) -> None:
    """Checks that lines have no more numbers than the first line declares.

    Raises:
        DataError: every line has more.  A single line may have a word such as ``windows 95``.
    """
    words = [_split(line, dimension, path, 2 + place)[0] for place, line in enumerate(lines)]
    if len(words) > 1 and all(_NUMBER.fullmatch(word.split(" ")[-1]) for word in words):
        raise DataError(
            f"{path}:2: more numbers than the {dimension} that the first line promises; correct "
            "the first line"
        )


def _split(line: str, dimension: int, path: Path | str, number: int) -> tuple[str, list[str]]:
    """A word, which may contain spaces in files of phrases, and the numbers after it."""
    word, *values = line.rstrip(" ").rsplit(" ", dimension)
    word = word.strip(" ")
    if len(values) < dimension or not word:
        raise DataError(
            f"{path}:{number}: expected a word and {dimension} numbers, found {line!r:.40}; make "
            "the file again"
        )
    return word, values


def _vector(values: list[str], path: Path | str, number: int) -> Matrix:
    try:
        with np.errstate(over="ignore"):  # an overflow gives infinity
            vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise DataError(f"{path}:{number}: {error!s:.100}; make the file again") from error
    if not np.isfinite(vector).all():
        raise DataError(f"{path}:{number}: a number is infinite or NaN; make the file again")
    return vector
