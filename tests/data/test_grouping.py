from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.grouping import group_by_length, share

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


@given(lengths.filter(len), st.integers(1, 300), st.integers(1, 7))
def test_sharing_gives_each_rank_equally_many_batches(
    pairs: list[tuple[int, int]], batch_tokens: int, world_size: int
) -> None:
    source, target = sides(pairs)
    batches = group_by_length(source, target, batch_tokens)
    steps = share(batches, world_size)
    assert all(len(step) == world_size for step in steps)
    assert all(len(batch) for step in steps for batch in step)
    assert len(steps) == -(-len(batches) // world_size)
    seen = sorted(np.concatenate([batch for step in steps for batch in step]).tolist())
    assert set(seen) == set(range(len(pairs)))
    if batch_tokens >= 50 * world_size and len(pairs) >= world_size * world_size:
        assert len(seen) == len(pairs)
    for step in steps:
        for batch in step:
            widest = max(source[batch].max(), target[batch].max())
            assert len(batch) == 1 or len(batch) * widest <= batch_tokens


def test_remainder_is_halved_not_dropped() -> None:
    batches = [np.arange(0, 10), np.arange(10, 14), np.arange(14, 17)]
    steps = share(batches, 2)
    assert [[len(batch) for batch in step] for step in steps] == [[5, 5], [4, 3]]


def test_fewer_sentences_than_ranks_are_repeated() -> None:
    (step,) = share([np.array([7])], 3)
    assert [batch.tolist() for batch in step] == [[7], [7], [7]]


def test_ranks_take_batches_of_similar_width_together() -> None:
    source = np.random.default_rng(0).integers(1, 100, 3000)
    steps = share(group_by_length(source, source, 400), 4)
    spreads = [np.ptp([source[batch].max() for batch in step]) for step in steps]
    assert np.mean(spreads) < 3


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
