"""Accuracy of word translation against a dictionary (Mikolov et al. 2013, arXiv:1309.4168)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dragoman.core.errors import DataError
from dragoman.techniques.embedding.nearest_vectors import NEIGHBOURS, nearest, neighbourhood, unit
from dragoman.text.word_vectors import WordVectors

_ANSWERS = 5


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

    def to_json(self) -> dict[str, Any]:
        """Plain values, as the command line prints them."""
        return asdict(self)


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

    Args:
        source: mapped vectors of the source language.
        target: mapped vectors of the target language.
        dictionary: translations of each word.
        name: of the dictionary, for messages.
        maximum: number of words to look up, the most frequent ones.
        neighbours: k of CSLS.

    Raises:
        DataError: no word can be looked up, or the dimensions differ.
    """
    check_dimensions(source, target)
    rows, known = by_case(source), by_case(target)
    expected: dict[int, set[str]] = {}
    for word, translations in dictionary.items():
        if (row := rows.get(word.casefold())) is not None:
            expected.setdefault(row, set()).update(one.casefold() for one in translations)
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
        found, _ = nearest(x[asked], z, _ANSWERS, hubness)
        right = np.array(
            [
                [target.words[one].casefold() in expected[row] for one in answers]
                for row, answers in zip(asked, found, strict=True)
            ]
        )
        return Precision(100 * float(right[:, 0].mean()), 100 * float(right.any(axis=1).mean()))

    return WordAccuracy(
        precision(hubness), precision(None), len(asked), len(answerable), len(expected)
    )


def check_dimensions(source: WordVectors, target: WordVectors) -> None:
    """Check that vectors can be compared.

    Raises:
        DataError: they have different dimensions.
    """
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
