"""Nearest vectors, by the formulas in plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.techniques.embedding import nearest_vectors
from dragoman.techniques.embedding.nearest_vectors import (
    mean_of_largest,
    nearest,
    neighbourhood,
    unit,
)
from dragoman.text.word_vectors import Matrix


def vectors(seed: int, rows: int, dimension: int = 5) -> Matrix:
    return unit(np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32))


def csls(x: Matrix, z: Matrix, k: int) -> list[list[float]]:
    """Conneau et al. 2018, section 2.3, in float64."""

    def cosine(a: Matrix, b: Matrix) -> float:
        return sum(float(p) * float(q) for p, q in zip(a, b, strict=True))

    def r(one: Matrix, others: Matrix) -> float:
        best = sorted((cosine(one, other) for other in others), reverse=True)[:k]
        return sum(best) / len(best)

    return [[2 * cosine(a, b) - r(a, z) - r(b, x) for b in z] for a in x]


@given(st.integers(0, 99), st.integers(1, 5), st.booleans())
def test_csls_by_the_formula(seed: int, k: int, small_blocks: bool) -> None:
    x, z = vectors(seed, 7), vectors(seed + 100, 11)
    with pytest.MonkeyPatch.context() as patch:
        if small_blocks:
            patch.setattr(nearest_vectors, "_BLOCK_BYTES", 100)
        found, values = nearest(x, z, 3, neighbourhood(z, x, k))
        own = neighbourhood(x, z, k)
    expected = np.array(csls(x, z, k))
    np.testing.assert_allclose(
        2 * values - own[:, None], np.sort(expected)[:, ::-1][:, :3], atol=1e-5
    )
    np.testing.assert_allclose(
        np.take_along_axis(expected, found, axis=1), np.sort(expected)[:, ::-1][:, :3], atol=1e-5
    )


def test_hubs_are_nearest_by_cosine_alone() -> None:
    """Two words near one another's hub get their own translation by CSLS."""
    x = unit(np.array([[1, 0.3], [1, -0.3]], dtype=np.float32))
    z = unit(np.array([[1, 0.0], [1, 1.2], [1, -1.2]], dtype=np.float32))
    assert nearest(x, z)[0].ravel().tolist() == [0, 0]
    assert nearest(x, z, 1, neighbourhood(z, x, 2))[0].ravel().tolist() == [1, 2]


@given(
    st.integers(0, 99), st.integers(1, 3), st.integers(1, 700), st.integers(1, 12), st.booleans()
)
def test_mean_of_largest(seed: int, rows: int, width: int, count: int, ties: bool) -> None:
    values = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    if ties:
        values = np.round(values)
    expected = np.sort(values.astype(np.float64), axis=1)[:, ::-1][:, :count].mean(axis=1)
    np.testing.assert_allclose(mean_of_largest(values, count), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1e38, 1e-38, 1e25, 1e-25])
def test_vectors_of_any_size_have_a_direction(size: float) -> None:
    """Their squares are beyond float32."""
    found = unit(np.array([[0, 1.5 * size, -2 * size], [3, 0, 4]], dtype=np.float32))
    np.testing.assert_allclose(found, [[0, 0.6, -0.8], [0.6, 0, 0.8]], rtol=1e-6)


def test_zeros_stay_zeros() -> None:
    assert unit(np.zeros((1, 3), dtype=np.float32)).tolist() == [[0, 0, 0]]
