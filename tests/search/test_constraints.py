"""What a constraint forbids, and that it forbids nothing else."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.search.constraints import NoRepeatedNgram, PartialOutputs

VOCABULARY = 5


@given(
    histories=st.integers(0, 8).flatmap(
        lambda length: st.lists(
            st.lists(st.integers(0, VOCABULARY - 1), min_size=length, max_size=length),
            min_size=1,
            max_size=4,
        )
    ),
    size=st.integers(1, 4),
)
def test_only_what_would_repeat_an_ngram_is_forbidden(
    histories: list[list[int]], size: int
) -> None:
    scores = torch.zeros(len(histories), VOCABULARY)
    history = torch.tensor(histories, dtype=torch.int64).view(len(histories), -1)
    NoRepeatedNgram(size).forbid(scores, PartialOutputs(history, torch.arange(len(histories))))
    for row, so_far in zip(scores.isinf().tolist(), histories, strict=True):
        seen = {tuple(so_far[i : i + size]) for i in range(len(so_far) - size + 1)}
        for piece, forbidden in enumerate(row):
            last = tuple([*so_far, piece][-size:])
            assert forbidden == (last in seen)
