"""Linear maps of two languages' vectors into one space (Artetxe et al. 2018, arXiv:1805.06297).

A dictionary is two arrays of the same length: row ``source[n]`` of one language's matrix ``x``
translates into row ``target[n]`` of the other language's matrix ``z``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dragoman.techniques.embedding.nearest_vectors import Rows, unit
from dragoman.text.word_vectors import Matrix

_REWEIGHTING = 0.5  # of the singular values, as in the paper's unsupervised and seeded settings
_SMALLEST = 1e-6  # of the largest singular value; smaller ones are noise


class WordPairs(NamedTuple):
    """A dictionary by the rows of words."""

    source: Rows
    target: Rows


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

    Returns:
        Mapped ``x`` and mapped ``z``.
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
