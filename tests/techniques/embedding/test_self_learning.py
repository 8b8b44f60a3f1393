"""Mappings learned from little and from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from planted_rotation import Planted, named, planted

from dragoman.core.errors import DataError
from dragoman.techniques.embedding.nearest_vectors import nearest, neighbourhood, unit
from dragoman.techniques.embedding.self_learning import (
    SelfLearningConfig,
    WordPairs,
    _induced,
    map_once,
    normalised,
    orthogonal_map,
    pairs_from_dictionary,
    pairs_from_nothing,
    pairs_from_words,
    reweighted,
    self_learn,
)
from dragoman.text.word_vectors import Matrix, WordVectors

QUICK = SelfLearningConfig(patience=5)


def accuracy(x: Matrix, z: Matrix, truth: Planted) -> float:
    """Share of words whose nearest one is their translation."""
    x, z = unit(x), unit(z)
    found, _ = nearest(x, z, 1, neighbourhood(z, x))
    return float((found[:, 0] == truth.translation).mean())


def test_from_25_words() -> None:
    truth = planted(noise=0.4, dimension=20, seed=3)
    x, z = normalised(truth.x), normalised(truth.z)
    first = WordPairs(np.arange(25), truth.translation[:25])
    found = self_learn(x, z, first, QUICK)
    assert accuracy(found.source, found.target, truth) > 0.95
    once = map_once(x, z, first)
    assert accuracy(once.source, once.target, truth) < 0.9  # self-learning is what helps


def test_among_few_words_each_has_a_nearest_one_even_if_none_is_considered() -> None:
    same = normalised(planted(rows=10, noise=0.0).x)
    seldom = SelfLearningConfig(kept=1e-9)
    pairs, _ = _induced(same, same, seldom.kept, seldom, np.random.default_rng(1))
    np.testing.assert_array_equal(pairs.source, pairs.target)


def test_from_nothing() -> None:
    truth = planted(noise=0.02)
    x, z = normalised(truth.x), normalised(truth.z)
    first = pairs_from_nothing(x, z)
    assert len(first.source) == 2 * len(x)
    found = self_learn(x, z, first, QUICK)
    assert accuracy(found.source, found.target, truth) > 0.97
    assert found.similarity > 0.97


def test_the_same_seed_gives_the_same_mapping() -> None:
    truth = planted(rows=60, noise=0.3)
    x, z = normalised(truth.x), normalised(truth.z)
    first = WordPairs(np.arange(5), truth.translation[:5])
    seen: list[int] = []
    one, again, other = (
        self_learn(x, z, first, SelfLearningConfig(patience=3, seed=seed), seen.append)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.source, again.source)
    assert one.iterations == again.iterations
    assert seen[: one.iterations] == list(range(1, one.iterations + 1))
    assert not np.array_equal(one.source, other.source)


def test_frequent_words_alone_are_learned_from_but_all_are_mapped() -> None:
    truth = planted(rows=120, noise=0.01)
    x, z = normalised(truth.x), normalised(truth.z)
    both = np.arange(30)
    found = self_learn(x, z, WordPairs(both, truth.translation[both]), QUICK)
    few = self_learn(
        x, z, WordPairs(both, truth.translation[both]), QUICK.model_copy(update={"words": 20})
    )
    assert found.source.shape == few.source.shape == x.shape
    assert len(found.pairs.source) == 240
    assert len(few.pairs.source) == 40
    assert few.pairs.target.max() < 20


def test_identical_words_and_numerals() -> None:
    one = WordVectors(("a", "7", "b", "2024", "x7"), np.eye(5, dtype=np.float32))
    other = WordVectors(("2024", "c", "7", "b", "x7"), np.eye(5, dtype=np.float32))
    identical = pairs_from_words("identical", one, other)
    assert list(zip(*identical, strict=True)) == [(1, 2), (2, 3), (3, 0), (4, 4)]
    numerals = pairs_from_words("numerals", one, other)
    assert list(zip(*numerals, strict=True)) == [(1, 2), (3, 0)]


def test_entries_of_a_dictionary() -> None:
    one, other = named(np.eye(3, dtype=np.float32), "s"), named(np.eye(4, dtype=np.float32), "t")
    entries = {"s1": ("t3", "unknown", "t0"), "unknown": ("t1",), "s2": ("T2",)}
    found = pairs_from_dictionary(entries, one, other, "d.tsv")
    assert list(zip(*found, strict=True)) == [(1, 3), (1, 0)]


def test_no_first_dictionary() -> None:
    one, other = named(np.eye(3, dtype=np.float32), "s"), named(np.eye(3, dtype=np.float32), "t")
    for seed, what in (("identical", "word"), ("numerals", "numeral")):
        with pytest.raises(DataError, match=rf"have no {what} in common; give a dictionary with"):
            pairs_from_words(seed, one, other)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"d.tsv: none of its words has a vector, with one of"):
        pairs_from_dictionary({"s1": ("u",)}, one, other, "d.tsv")


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
