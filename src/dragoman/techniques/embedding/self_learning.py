"""A mapping and a dictionary that improve one another (Artetxe et al. 2018, arXiv:1805.06297).

A dictionary gives an orthogonal mapping, and the mapping a larger dictionary: for each of the most
frequent words of either language, the nearest word of the other by CSLS.  At first only a random
tenth of the candidates is considered, so that learning can escape a poor start.  The share doubles
whenever nothing has improved for a while.  The first dictionary (:data:`Seed`) is given, or comes
from the words themselves.

``x`` and ``z`` are the matrices of the two languages, the most frequent words first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import DataError
from dragoman.techniques.embedding.nearest_vectors import (
    NEIGHBOURS,
    Rows,
    mean_of_largest,
    neighbourhood,
    similarity_blocks,
    unit,
)
from dragoman.text.word_vectors import Matrix, WordVectors

_IMPROVEMENT = 1e-6  # of the mean similarity; smaller ones do not count
_GROWTH = 2.0  # of the share of candidates that are considered
_FARTHER = np.float32(10)  # than any word: for candidates left out, unless all are
_REWEIGHTING = 0.5  # of the singular values, as in the paper's unsupervised and seeded settings
_SMALLEST = 1e-6  # of the largest singular value; smaller ones are noise
COMPARED_WORDS = 4_000
"""Number of most frequent words to compare (Artetxe et al. 2018, section 3.2)."""
_NUMERAL = re.compile("▁?[0-9]+")
Seed = Literal["identical", "numerals", "nothing"]
"""identical: words that are spelt alike in both languages.  numerals: numbers.  nothing: words
whose similarities to all other words of their language are distributed alike."""


class WordPairs(NamedTuple):
    """A dictionary: row ``source[n]`` of ``x`` translates into row ``target[n]`` of ``z``."""

    source: Rows
    target: Rows


class SelfLearningConfig(Config):
    """How a mapping is learned; defaults from the paper (section 4)."""

    words: int = Field(20_000, ge=10)
    """Most frequent words of each language that the dictionary is induced from."""
    neighbours: int = Field(NEIGHBOURS, ge=1)
    """k of CSLS."""
    kept: float = Field(0.1, gt=0, le=1)
    """Share of the candidates that are considered at first."""
    patience: int = Field(50, ge=1)
    """Iterations without improvement until twice as many are considered, or learning ends."""
    seed: int = Field(1, ge=0)
    """Of the random candidates."""


@dataclass(frozen=True)
class Mapped:
    """The result of self-learning."""

    source: Matrix
    """Mapped vectors of the source language."""
    target: Matrix
    pairs: WordPairs
    """The last dictionary."""
    iterations: int
    similarity: float
    """Mean similarity of the nearest words, over both directions."""


def self_learn(
    x: Matrix,
    z: Matrix,
    pairs: WordPairs,
    config: SelfLearningConfig,
    progress: Callable[[int], object] = lambda iteration: None,
) -> Mapped:
    """Map :func:`normalised` vectors into one space, beginning from a dictionary."""
    rng = np.random.default_rng(config.seed)
    kept, best, improved_at, iteration = config.kept, -np.inf, 0, 0
    frequent_x, frequent_z = x[: config.words], z[: config.words]
    while True:
        iteration += 1
        mapping = orthogonal_map(x[pairs.source], z[pairs.target])
        pairs, similarity = _induced(frequent_x @ mapping, frequent_z, kept, config, rng)
        progress(iteration)
        if similarity >= best + _IMPROVEMENT:
            best, improved_at = similarity, iteration
        elif iteration - improved_at >= config.patience:
            if kept >= 1:
                break
            kept, improved_at = min(1.0, kept * _GROWTH), iteration
    mapped_x, mapped_z = reweighted(x, z, pairs)
    return Mapped(mapped_x, mapped_z, pairs, iteration, similarity)


def map_once(x: Matrix, z: Matrix, pairs: WordPairs) -> Mapped:
    """Map two languages with a given dictionary, without learning a larger one."""
    mapped_x, mapped_z = reweighted(x, z, pairs)
    return Mapped(mapped_x, mapped_z, pairs, 0, float("nan"))


def _induced(
    x: Matrix, z: Matrix, kept: float, config: SelfLearningConfig, rng: np.random.Generator
) -> tuple[WordPairs, float]:
    """The nearest words in both directions by CSLS, and their mean similarity."""
    hubs_z = neighbourhood(z, x, config.neighbours)
    forward, hubs_x, there = _nearest(
        x, z, hubs_z, kept=kept, neighbours=config.neighbours, rng=rng
    )
    backward, _, back = _nearest(z, x, hubs_x, kept=kept, neighbours=config.neighbours, rng=rng)
    pairs = WordPairs(
        np.concatenate([np.arange(len(x)), backward]),
        np.concatenate([forward, np.arange(len(z))]),
    )
    return pairs, (there + back) / 2


def _nearest(
    x: Matrix,
    z: Matrix,
    hubness: Matrix,
    *,
    kept: float,
    neighbours: int,
    rng: np.random.Generator,
) -> tuple[Rows, Matrix, float]:
    """For each row of x: the nearest row of z by CSLS, and its own neighbourhood.

    Also returns the mean similarity to the nearest rows among all rows, by similarity alone.
    """
    nearest = np.empty(len(x), dtype=np.int64)
    own = np.empty(len(x), dtype=np.float32)
    total = 0.0
    for rows, similarity in similarity_blocks(x, z):
        own[rows] = mean_of_largest(similarity, neighbours)
        total += float(similarity.max(axis=1).sum(dtype=np.float64))
        similarity -= hubness / 2  # noqa: PLW2901 - in place
        if kept < 1:
            similarity[rng.random(similarity.shape, dtype=np.float32) >= kept] -= _FARTHER
        nearest[rows] = similarity.argmax(axis=1)
    return nearest, own, total / len(x)


def pairs_from_words(seed: Seed, source: WordVectors, target: WordVectors) -> WordPairs:
    """Identical strings, signs and numbers among them, or only numerals of both languages."""
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
    """Entries of the dictionary ``name`` with vectors on both sides (case-sensitive)."""
    pairs = [
        (source.index[word], target.index[translation])
        for word, translations in dictionary.items()
        for translation in translations
        if word in source.index and translation in target.index
    ]
    if not pairs:
        raise DataError(
            f"{name}: none of its words has a vector, with one of its translations; are its two "
            "columns the languages of the two files, in their order and case?"
        )
    return _pairs(pairs)


def pairs_from_nothing(x: Matrix, z: Matrix) -> WordPairs:
    """Words whose similarities to their own language are distributed alike (section 3.2).

    Each of the most frequent words is described by the sorted square roots of its similarity
    matrix, ``sqrt(X X^T)``, which do not depend on the language's coordinates.  The nearest
    descriptions by CSLS, in both directions, are the dictionary.

    Args:
        x: :func:`normalised` vectors of the source language.
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


def _pairs(rows: Iterable[tuple[int, int]]) -> WordPairs:
    source, target = zip(*rows, strict=True)
    return WordPairs(np.array(source, dtype=np.int64), np.array(target, dtype=np.int64))


def normalised(matrix: Matrix) -> Matrix:
    """Unit length, mean-centred per dimension, and unit length again (section 3.1)."""
    scaled = unit(matrix)
    return unit(scaled - scaled.mean(axis=0, keepdims=True))


def orthogonal_map(x: Matrix, z: Matrix) -> Matrix:
    """The orthogonal W that minimises ``|x W - z|`` (Procrustes; Schönemann 1966).

    Args:
        x: vectors of the dictionary's source words ``(n, dimension)``.
        z: of their translations, row by row.

    Returns:
        ``(dimension, dimension)``.
    """
    left, _, right = np.linalg.svd(x.T.astype(np.float64) @ z)
    return (left @ right).astype(np.float32)


def reweighted(x: Matrix, z: Matrix, pairs: WordPairs) -> tuple[Matrix, Matrix]:
    """Both languages in a space where related dimensions weigh more (symmetric re-weighting).

    Both are whitened, mapped orthogonally, multiplied by the square root of the cross-correlation
    of each dimension, and de-whitened (section 3.4; Artetxe et al. 2018, AAAI, steps 1 to 4).

    Args:
        x: :func:`normalised` vectors of the source language ``(n, dimension)``.
        z: of the target language ``(m, dimension)``.
        pairs: the dictionary.
    """
    (white_x, unwhite_x), (white_z, unwhite_z) = map(_whitening, (x[pairs.source], z[pairs.target]))
    left, correlations, right = np.linalg.svd(
        (x[pairs.source] @ white_x).T @ (z[pairs.target] @ white_z)
    )
    weights = np.diag(correlations**_REWEIGHTING)
    map_x = white_x @ left @ weights @ left.T @ unwhite_x @ left
    map_z = white_z @ right.T @ weights @ right @ unwhite_z @ right.T
    return (x @ map_x).astype(np.float32), (z @ map_z).astype(np.float32)


def _whitening(x: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """``(X^T X)^(-1/2)`` and its inverse; directions that words do not use are left out of both."""
    _, singular, right = np.linalg.svd(x.astype(np.float64), full_matrices=False)
    used = singular > _SMALLEST * singular[0]
    right, singular = right[used], singular[used]
    return right.T @ (right / singular[:, None]), right.T @ (right * singular[:, None])
