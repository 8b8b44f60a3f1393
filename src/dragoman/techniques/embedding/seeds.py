"""The first dictionary, from which a mapping is learned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from dragoman.core.errors import DataError
from dragoman.techniques.embedding.linear_maps import WordPairs, normalised
from dragoman.techniques.embedding.nearest_vectors import NEIGHBOURS, neighbourhood
from dragoman.text.word_vectors import Matrix, WordVectors

Seed = Literal["identical", "numerals", "nothing"]
"""identical: words that are spelt alike in both languages.  numerals: numbers.  nothing: words
whose similarities to all other words of their language are distributed alike."""

COMPARED_WORDS = 4_000
"""Number of most frequent words to compare (Artetxe et al. 2018, section 3.2)."""

_NUMERAL = re.compile("▁?[0-9]+")


def pairs_from_words(seed: Seed, source: WordVectors, target: WordVectors) -> WordPairs:
    """Identical strings or numerals of both languages.

    Signs and numbers also count as identical strings.

    Raises:
        DataError: no pair exists.
    """
    shared = [word for word in source.words if word in target.index]
    if seed == "numerals":
        shared = [word for word in shared if _NUMERAL.fullmatch(word)]
    if not shared:
        what = "numeral" if seed == "numerals" else "word"
        raise DataError(
            f"the two files have no {what} in common; give a dictionary with --seed-dictionary, "
            "or take --seed nothing"
        )
    return _pairs((source.index[word], target.index[word]) for word in shared)


def pairs_from_dictionary(
    dictionary: Mapping[str, Sequence[str]], source: WordVectors, target: WordVectors, name: str
) -> WordPairs:
    """Dictionary entries with vectors on both sides (case-sensitive).

    Args:
        dictionary: translations of each word.
        source: vectors of the source language.
        target: vectors of the target language.
        name: of the dictionary, for messages.

    Raises:
        DataError: no entry has vectors on both sides.
    """
    found = [
        (source.index[word], target.index[translation])
        for word, translations in dictionary.items()
        for translation in translations
        if word in source.index and translation in target.index
    ]
    if not found:
        raise DataError(
            f"{name}: none of its words has a vector, with one of its translations; are its two "
            "columns the languages of the two files, in their order and case?"
        )
    return _pairs(found)


def pairs_from_nothing(x: Matrix, z: Matrix) -> WordPairs:
    """Words whose similarities to their own language are distributed alike (section 3.2).

    Each of the most frequent words is described by the sorted square roots of its similarity
    matrix, ``sqrt(X X^T)``, which do not depend on the language's coordinates.  The nearest
    descriptions by CSLS, in both directions, are the dictionary.

    Args:
        x: vectors of the source language, after
            :func:`~dragoman.techniques.embedding.linear_maps.normalised`.
        z: of the target language.
    """
    size = min(len(x), len(z), COMPARED_WORDS)
    one, other = (normalised(_sorted_similarities(matrix[:size])) for matrix in (x, z))
    similarity = one @ other.T  # (size, size): at most 64 MB
    # Both neighbourhoods matter here: rows and columns are compared.
    similarity -= neighbourhood(one, other, NEIGHBOURS)[:, None] / 2
    similarity -= neighbourhood(other, one, NEIGHBOURS)[None, :] / 2
    everything = np.arange(size)
    return WordPairs(
        np.concatenate([everything, similarity.argmax(axis=0)]),
        np.concatenate([similarity.argmax(axis=1), everything]),
    )


def _sorted_similarities(matrix: Matrix) -> Matrix:
    left, singular, _ = np.linalg.svd(matrix, full_matrices=False)
    similarities: Matrix = (left * singular) @ left.T
    similarities.sort(axis=1)
    return similarities


def _pairs(found: Iterable[tuple[int, int]]) -> WordPairs:
    source, target = zip(*found, strict=True)
    return WordPairs(np.array(source, dtype=np.int64), np.array(target, dtype=np.int64))
