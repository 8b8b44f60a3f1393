"""Linear maps, against a planted rotation and against the steps as the papers write them."""

from __future__ import annotations

import numpy as np
from planted_rotation import planted

from dragoman.techniques.embedding.linear_maps import (
    WordPairs,
    normalised,
    orthogonal_map,
    reweighted,
)


def test_a_rotation_is_recovered_from_the_pairs() -> None:
    x, z, rotation, translation = planted()
    found = orthogonal_map(x, z[translation])
    np.testing.assert_allclose(found, rotation, atol=1e-5)
    np.testing.assert_allclose(found @ found.T, np.eye(len(found)), atol=1e-5)


def test_no_small_turn_of_the_map_is_better() -> None:
    """Procrustes: the best orthogonal map also where the pairs fit no rotation."""
    x, z, _, translation = planted(noise=0.5)
    z = z[translation]
    found = orthogonal_map(x, z).astype(np.float64)
    best = np.linalg.norm(x @ found - z)
    rng = np.random.default_rng(2)
    for _ in range(20):
        skew = rng.normal(size=found.shape) * 0.03
        turn = np.linalg.qr(np.eye(len(found)) + skew - skew.T)[0]
        turn *= np.sign(np.diag(turn))
        assert np.linalg.norm(x @ found @ turn - z) > best


def test_normalised_vectors_have_unit_length_and_were_centred() -> None:
    x = planted().x
    found = normalised(x)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    one = x.astype(np.float64) / np.linalg.norm(x, axis=1)[:, None]
    centred = one - one.mean(0)
    expected = centred / np.linalg.norm(centred, axis=1)[:, None]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_reweighting_step_by_step() -> None:
    """Artetxe et al. 2018, section 3.4, with a matrix for every step."""
    x, z, _, translation = planted(noise=0.3)
    pairs = WordPairs(np.arange(100), translation[:100])
    found_x, found_z = reweighted(x, z, pairs)

    def whitening(m: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(m.T.astype(np.float64) @ m)
        return vectors @ np.diag(values**-0.5) @ vectors.T

    white_x, white_z = whitening(x[pairs.source]), whitening(z[pairs.target])
    left, s, right = np.linalg.svd(white_x @ x[pairs.source].T @ z[pairs.target] @ white_z)
    step_x = x @ white_x @ left @ np.diag(s**0.5)
    step_z = z @ white_z @ right.T @ np.diag(s**0.5)
    expected_x = step_x @ left.T @ np.linalg.inv(white_x) @ left
    expected_z = step_z @ right @ np.linalg.inv(white_z) @ right.T
    np.testing.assert_allclose(found_x @ found_z.T, expected_x @ expected_z.T, rtol=0.01, atol=0.01)


def test_dimensions_that_no_word_uses() -> None:
    """They are left out of the whitening, instead of a division by zero."""
    x, z, _, translation = planted(dimension=10)
    x[:, 0] = z[:, 3] = 0
    pairs = WordPairs(np.arange(50), translation[:50])
    for mapped in reweighted(x, z, pairs):
        assert np.abs(mapped).max() < 10 * np.abs(x).max()
