"""The nearest vectors of another language, by similarity and by CSLS, block by block.

Cross-domain similarity local scaling (CSLS, Conneau et al. 2018, arXiv:1710.04087, section 2.3):
``2 cos(x, z) - r(x) - r(z)``, where ``r`` is the mean similarity of a vector to its k nearest
vectors in the other language.  It keeps a few vectors, the hubs, from being nearest to everything.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dragoman.text.word_vectors import Matrix

NEIGHBOURS = 10
"""k of CSLS in the paper."""

_BLOCK_BYTES = 2**26  # of similarities at once
_GROUP = 16
_TINY = 1e-15  # length of a vector some of whose squares may be no float32

Rows = NDArray[np.int64]


def unit(matrix: Matrix) -> Matrix:
    """Each row divided by its length; zeros stay."""
    with np.errstate(over="ignore"):
        length = np.linalg.norm(matrix, axis=1, keepdims=True)
    # Squares of very large or small numbers exceed the range of float32.
    (beyond,) = np.nonzero(~((length > _TINY) & (length < np.inf))[:, 0])
    if len(beyond):
        wide = matrix[beyond].astype(np.float64)
        scale = np.abs(wide).max(axis=1, keepdims=True)
        matrix, length = matrix.copy(), length.copy()
        matrix[beyond] = wide / np.where(scale == 0, 1, scale)
        length[beyond] = np.linalg.norm(matrix[beyond], axis=1, keepdims=True)
    return (matrix / np.where(length == 0, 1, length)).astype(np.float32)


def similarity_blocks(x: Matrix, z: Matrix) -> Iterator[tuple[slice, Matrix]]:
    """``x @ z.T``, some rows at a time: the rows, and ``(rows, len(z))``."""
    size = max(1, _BLOCK_BYTES // (4 * max(1, len(z))))
    for start in range(0, len(x), size):
        rows = slice(start, min(start + size, len(x)))
        yield rows, x[rows] @ z.T


def neighbourhood(x: Matrix, z: Matrix, neighbours: int = NEIGHBOURS) -> Matrix:
    """Mean similarity of each row of ``x`` to its nearest rows of ``z``.

    Args:
        x: unit vectors ``(n, dimension)``.
        z: unit vectors ``(m, dimension)``.
        neighbours: maximum number of nearest rows.

    Returns:
        ``(n,)``.
    """
    means = np.empty(len(x), dtype=np.float32)
    for rows, similarity in similarity_blocks(x, z):
        means[rows] = mean_of_largest(similarity, neighbours)
    return means


def mean_of_largest(values: Matrix, count: int) -> Matrix:
    """Mean of the ``count`` largest values of each row, ``(n, m)`` to ``(n,)``."""
    rows, width = values.shape
    count = min(count, width)
    groups = width // _GROUP
    if groups <= count:
        return np.partition(values, width - count, axis=1)[:, width - count :].mean(axis=1)
    # The largest values are in the groups with the largest maxima, and a maximum over rows of
    # memory is much faster than a partition: group g has the columns g, g + groups, ...
    grouped = values[:, : groups * _GROUP].reshape(rows, _GROUP, groups)
    best = np.argpartition(grouped.max(axis=1), groups - count, axis=1)[:, groups - count :]
    candidates = np.take_along_axis(grouped, best[:, None, :], axis=2).reshape(rows, -1)
    candidates = np.concatenate([candidates, values[:, groups * _GROUP :]], axis=1)
    last = candidates.shape[1] - count
    return np.partition(candidates, last, axis=1)[:, last:].mean(axis=1)


def nearest(
    x: Matrix, z: Matrix, count: int = 1, hubness: Matrix | None = None
) -> tuple[Rows, Matrix]:
    """The nearest rows of ``z`` for each row of ``x``, the nearest first.

    Args:
        x: unit vectors ``(n, dimension)``.
        z: unit vectors ``(m, dimension)``.
        count: maximum number of rows.
        hubness: :func:`neighbourhood` of ``z`` among the source's vectors, for CSLS; without it,
            by similarity.

    Returns:
        Indices ``(n, count)`` and similarities ``(n, count)``; with ``hubness``, the latter are
        ``cos(x, z) - r(z) / 2``, which orders as CSLS does since ``r(x)`` is the same for a row.
    """
    count = min(count, len(z))
    indices = np.empty((len(x), count), dtype=np.int64)
    values = np.empty((len(x), count), dtype=np.float32)
    for rows, similarity in similarity_blocks(x, z):
        if hubness is not None:
            similarity -= hubness / 2  # noqa: PLW2901 - in place
        best = np.argpartition(similarity, len(z) - count, axis=1)[:, len(z) - count :]
        largest = np.take_along_axis(similarity, best, axis=1)
        order = np.argsort(-largest, axis=1, kind="stable")
        indices[rows] = np.take_along_axis(best, order, axis=1)
        values[rows] = np.take_along_axis(largest, order, axis=1)
    return indices, values
