from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.grouping import divide, group_by_length

lengths = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), max_size=80)


def sides(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@given(lengths, st.integers(1, 300))
def test_every_sentence_is_in_one_batch_within_the_budget(
    pairs: list[tuple[int, int]], batch_tokens: int
) -> None:
    source, target = sides(pairs)
    batches = group_by_length(source, target, batch_tokens)
    assert sorted(np.concatenate([np.array([], int), *batches]).tolist()) == list(range(len(pairs)))
    for batch in batches:
        widest = max(source[batch].max(), target[batch].max())
        assert len(batch) == 1 or len(batch) * widest <= batch_tokens


@given(lengths, st.none() | st.integers(1, 300), st.integers(1, 7))
def test_every_sentence_of_a_batch_is_in_one_part_of_one_rank(
    pairs: list[tuple[int, int]], device_tokens: int | None, world_size: int
) -> None:
    source, target = sides(pairs)
    shares = [
        divide(source, target, rank=rank, world_size=world_size, device_tokens=device_tokens)
        for rank in range(world_size)
    ]
    parts = [part for share in shares for part in share]
    assert sorted(np.concatenate([np.array([], int), *parts]).tolist()) == list(range(len(pairs)))
    assert np.ptp([sum(map(len, share)) for share in shares]) <= 1
    for part in parts:
        widest = max(source[part].max(), target[part].max())
        assert device_tokens is None or len(part) == 1 or len(part) * widest <= device_tokens


def test_a_batch_that_needs_no_dividing_keeps_its_order() -> None:
    source = np.array([5, 2, 9, 4])
    (part,) = divide(source, source, device_tokens=36)
    assert part.tolist() == [0, 1, 2, 3]
    assert len(divide(source, source, device_tokens=35)) == 2


def test_ranks_have_about_equally_much_to_do() -> None:
    source = np.random.default_rng(0).integers(1, 100, 1000)
    shares = [divide(source, source, rank=rank, world_size=4)[0] for rank in range(4)]
    assert np.ptp([source[share].sum() for share in shares]) < 100
    assert np.ptp([source[share].max() for share in shares]) <= 1


@pytest.mark.parametrize("batch_tokens", [2048, 8192])
def test_batches_are_full_and_little_is_padded(batch_tokens: int) -> None:
    chance = np.random.default_rng(1)
    base = chance.lognormal(3, 0.6, 100_000)
    source = base.clip(1, 250).astype(np.int64)
    target = (base * chance.lognormal(0, 0.2, len(base))).clip(1, 250).astype(np.int64)
    batches = group_by_length(source, target, batch_tokens)
    padded = [len(b) * (source[b].max() + target[b].max()) for b in batches]
    assert 1 - (source.sum() + target.sum()) / sum(padded) < 0.05
    filled = [len(b) * max(source[b].max(), target[b].max()) for b in batches]
    assert np.mean(filled) > 0.85 * batch_tokens


def test_a_heavy_tail_of_lengths_costs_no_quadratic_time() -> None:
    # Cutting one batch off at a time would take minutes here.
    source = (
        (5 * (1 + np.random.default_rng(2).pareto(1.2, 200_000))).clip(1, 5000).astype(np.int64)
    )
    assert len(group_by_length(source, source, 5000)) > 500
