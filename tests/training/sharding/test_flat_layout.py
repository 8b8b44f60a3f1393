"""Parameters in one vector, of which some belong to one process each."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.training.sharding.flat_layout import ALIGNMENT, FlatLayout, is_matrix

SHAPES = st.lists(
    st.one_of(
        st.tuples(st.integers(1, 40)),
        st.tuples(st.integers(1, 9), st.integers(2, 9)),
        st.tuples(st.integers(1, 4), st.integers(2, 4), st.integers(1, 4)),
    ),
    min_size=1,
    max_size=12,
)


def laid_out(
    shapes: list[tuple[int, ...]], processes: int, part_numbers: int | None
) -> tuple[dict[str, Tensor], FlatLayout]:
    """Parameters and their layout, in which matrices with an even number of rows are not cut."""
    named = [(f"p{i}", torch.randn(shape)) for i, shape in enumerate(shapes)]
    named.sort(key=lambda item: not is_matrix(item[1]))
    uncut = frozenset(n for n, p in named if p.dim() == 2 and p.shape[0] % 2 == 0)
    layout = FlatLayout.cut(named, processes, lambda name: None, part_numbers, uncut)
    return dict(named), layout


@given(SHAPES, st.integers(1, 5), st.sampled_from([None, 1, 30]))
def test_pieces_are_all_numbers_of_a_share_in_order(
    shapes: list[tuple[int, ...]], processes: int, part_numbers: int | None
) -> None:
    named, layout = laid_out(shapes, processes, part_numbers)
    flat = layout.flat(named, torch.empty(0))
    decayed = layout.flat(
        {n: torch.full_like(p, float(is_matrix(p))) for n, p in named.items()}, torch.empty(0)
    )
    found = 0.0
    for rank in range(processes):
        share, weights = layout.share(flat, rank), layout.share(decayed, rank)
        end = 0
        for place, shape, is_decayed, _ in layout.pieces(rank):
            assert place.start >= end and not share[end : place.start].any(), "padding"
            end = place.stop
            assert place.start % ALIGNMENT == 0 and shape.numel() == place.stop - place.start
            assert is_decayed or not weights[place].any()
            learned = share[place] != 0
            assert not is_decayed or weights[place][learned].all()
        assert not share[end:].any()
        found += float(share.square().sum(dtype=torch.float64))
    total = sum(float(p.square().sum(dtype=torch.float64)) for p in named.values())
    assert abs(found - total) < 1e-6 * max(1.0, total)


@given(SHAPES, st.integers(1, 5), st.sampled_from([None, 1, 30]))
def test_an_uncut_matrix_is_a_piece_of_one_process(
    shapes: list[tuple[int, ...]], processes: int, part_numbers: int | None
) -> None:
    named, layout = laid_out(shapes, processes, part_numbers)
    flat = layout.flat(named, torch.empty(0))
    matrices = [
        layout.share(flat, rank)[place].view(shape)
        for rank in range(processes)
        for place, shape, _, is_whole in layout.pieces(rank)
        if is_whole
    ]
    assert len(matrices) == len(layout.uncut)
    for name in layout.uncut:
        assert any(torch.equal(named[name], matrix) for matrix in matrices), name


def test_uncut_matrices_of_equal_size_are_spread_evenly() -> None:
    """Embeddings and biases are cut anywhere, so nothing but alignment is padded."""
    shapes = [(64, 16), *[(16, 16)] * 8, (32, 16), *[(16,)] * 4]
    named = {f"p{i}": torch.zeros(shape) for i, shape in enumerate(shapes)}
    uncut = frozenset(f"p{i}" for i in range(1, 9))
    layout = FlatLayout.cut(list(named.items()), 4, lambda name: None, None, uncut)
    assert layout.length == sum(p.numel() for p in named.values())
    assert [sum(p.is_whole for p in layout.pieces(rank)) for rank in range(4)] == [2, 2, 2, 2]
