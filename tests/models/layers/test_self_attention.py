"""Keys and values that are chosen and extended, against plain lists of rows."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.models.interface import select
from dragoman.models.layers.attention import KeysValues
from dragoman.models.layers.self_attention import PastPositions

HEADS, D_K, D_V = 3, 5, 2

modes = pytest.mark.parametrize("with_gradients", [False, True])
steps = st.lists(
    st.tuples(st.integers(1, 3), st.none() | st.lists(st.integers(0, 99), min_size=1, max_size=7)),
    min_size=1,
    max_size=6,
)


def drawn(rows: int, length: int, seed: int) -> KeysValues:
    """As projections make them: positions before heads in memory."""
    generator = torch.Generator().manual_seed(seed)
    keys, values = (
        torch.randn(rows, length, HEADS, width, generator=generator).transpose(1, 2)
        for width in (D_K, D_V)
    )
    return KeysValues(keys, values)


def nothing(rows: int) -> PastPositions:
    return PastPositions.none(rows, HEADS, D_K, D_V, torch.empty(0))


@modes
@given(rows=st.integers(1, 4), steps=steps)
def test_rows_keep_their_own_positions(
    with_gradients: bool, rows: int, steps: list[tuple[int, list[int] | None]]
) -> None:
    past = nothing(rows)
    expected: list[list[Tensor]] = [[] for _ in range(rows)]  # keys of each row, by position
    with torch.inference_mode(not with_gradients):
        for seed, (length, wanted) in enumerate(steps):
            if wanted is not None:
                places = [place % len(expected) for place in wanted]
                past = select(past, torch.tensor(places))
                expected = [list(expected[place]) for place in places]
            later = drawn(len(expected), length, seed)
            now = past.extended(later)
            for row, keys in zip(expected, later.keys, strict=True):
                row.extend(keys.unbind(1))
            assert torch.equal(now.keys, torch.stack([torch.stack(row, 1) for row in expected]))
            assert now.values.shape == (*now.keys.shape[:3], D_V)
            assert torch.equal(now.values[:, :, -length:], later.values)
            past = PastPositions(now)


@torch.inference_mode()
def test_choosing_twice_before_a_position_is_choosing_once() -> None:
    past = PastPositions(drawn(4, 2, seed=1))
    once = select(past, torch.tensor([3, 0]))
    twice = select(select(past, torch.tensor([1, 3, 0])), torch.tensor([1, 2]))
    later = drawn(2, 1, seed=2)
    assert torch.equal(once.extended(later).keys, twice.extended(later).keys)


@torch.inference_mode()
def test_two_continuations_of_a_past_do_not_meet() -> None:
    past = select(PastPositions(drawn(3, 2, seed=1)), torch.tensor([2, 1]))
    first = past.extended(drawn(2, 1, seed=2))
    kept = first.keys.clone()
    past.extended(drawn(2, 1, seed=3))
    assert torch.equal(first.keys, kept)


@torch.inference_mode()
def test_a_part_of_the_positions_may_be_kept() -> None:
    """As in a window: a view of the last ones."""
    whole = drawn(3, 4, seed=1)
    past = PastPositions(KeysValues(whole.keys[:, :, 2:], whole.values[:, :, 2:]))
    later = drawn(2, 1, seed=2)
    now = select(past, torch.tensor([2, 0])).extended(later)
    assert torch.equal(now.keys, torch.cat([whole.keys[[2, 0], :, 2:], later.keys], dim=2))


def test_gradients_pass_through_a_choice() -> None:
    known, later = drawn(3, 2, seed=1), drawn(2, 1, seed=2)
    known.keys.requires_grad_()
    PastPositions(known, torch.tensor([2, 2])).extended(later).keys.sum().backward()
    assert known.keys.grad is not None
    assert known.keys.grad.sum((1, 2, 3)).tolist() == [0.0, 0.0, 2.0 * 2 * HEADS * D_K]
