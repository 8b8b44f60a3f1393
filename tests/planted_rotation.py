"""Two languages whose vectors differ by a known rotation and a little noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.word_vectors import Matrix, WordVectors


class Planted(NamedTuple):
    x: Matrix
    z: Matrix
    rotation: NDArray[np.float64]
    translation: NDArray[np.int64]
    """The row of z that is the translation of each row of x."""


def planted(rows: int = 300, dimension: int = 10, noise: float = 0.0, seed: int = 1) -> Planted:
    rng = np.random.default_rng(seed)
    # Skewed and of unlike widths, as embeddings are; of a sphere, no rotation could be found.
    x = rng.gamma(0.5, size=(rows, dimension)) * np.linspace(1, 2, dimension)
    rotation, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    order = rng.permutation(rows)
    z = x @ rotation + noise * rng.normal(size=x.shape)
    translation = np.argsort(order)
    return Planted(x.astype(np.float32), z[order].astype(np.float32), rotation, translation)


def named(matrix: Matrix, prefix: str) -> WordVectors:
    return WordVectors(tuple(f"{prefix}{row}" for row in range(len(matrix))), matrix)
