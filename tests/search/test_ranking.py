from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.search.ranking import best


@given(
    seed=st.integers(0, 1000),
    rows=st.integers(1, 5),
    vocabulary=st.sampled_from([2, 7, 127, 128, 640, 1201]),
    count=st.integers(1, 9),
    levels=st.sampled_from([1, 2, 5, 10**6]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_best_first_and_equal_ones_by_lowest_id(
    seed: int, rows: int, vocabulary: int, count: int, levels: int, dtype: torch.dtype
) -> None:
    count = min(count, vocabulary)
    scores = np.random.default_rng(seed).integers(-levels, levels, size=(rows, vocabulary)) / 2
    values, ids = best(torch.from_numpy(scores).to(dtype), count)
    for row in range(rows):
        expected = sorted(range(vocabulary), key=lambda i: (-scores[row, i], i))[:count]
        assert ids[row].tolist() == expected
        assert values[row].tolist() == [scores[row, i] for i in expected]


@given(seed=st.integers(0, 1000), allowed=st.integers(0, 3))
def test_what_is_forbidden_comes_last(seed: int, allowed: int) -> None:
    generator = np.random.default_rng(seed)
    ids = generator.choice(700, size=allowed, replace=False)
    scores = np.full((1, 700), -np.inf, dtype=np.float32)
    scores[0, ids] = generator.random(allowed) - 0.5
    values, found = best(torch.from_numpy(scores), 3)
    assert found[0, :allowed].tolist() == sorted(ids, key=lambda i: -scores[0, i])
    assert values[0, allowed:].tolist() == [-np.inf] * (3 - allowed)


def test_zeros_of_either_sign_are_equal() -> None:
    assert best(torch.tensor([[-0.0, 0.0, -1.0, -0.0]]), 3)[1].tolist() == [[0, 1, 3]]


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_no_number_is_not_hidden(sign: int) -> None:
    scores = torch.full((1, 700), -torch.inf)
    scores[0, 300], scores[0, 500] = sign * torch.tensor(torch.nan), -1.0
    values, ids = best(scores, 2)
    assert ids.tolist() == [[300, 500]]
    assert values[0, 0].isnan()
