"""What a constraint forbids, and that it forbids nothing else."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.search.constraints import (
    LengthLimit,
    MinimumLength,
    NoRepeatedNgram,
    PartialOutputs,
)
from dragoman.text.vocabularies import EOS

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


def test_no_end_before_the_minimum_length_unless_nothing_else_is_left() -> None:
    impossible = float("-inf")
    scores = torch.full((3, VOCABULARY), impossible)
    scores[0] = -1.0
    scores[:2, EOS] = -2.0  # the second hypothesis has nothing else, the third nothing at all
    partial = PartialOutputs(torch.full((3, 1), 4), torch.arange(3))
    MinimumLength(2).forbid(scores, partial)
    assert scores[:, EOS].tolist() == [impossible, -2.0, impossible]
    others = [piece for piece in range(VOCABULARY) if piece != EOS]
    assert scores[0, others].tolist() == [-1.0] * len(others)
    scores[:, EOS] = -2.0
    MinimumLength(1).forbid(scores, partial)
    assert scores[:, EOS].tolist() == [-2.0] * 3


@given(
    limits=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    length=st.integers(0, 5),
    beam=st.integers(1, 3),
)
def test_each_sentence_ends_at_its_own_limit(limits: list[int], length: int, beam: int) -> None:
    sentences = torch.arange(len(limits)).repeat_interleave(beam)
    history = torch.full((len(sentences), length), 4)
    required = LengthLimit(torch.tensor(limits)).required(PartialOutputs(history, sentences))
    ends = [limits[sentence] <= length for sentence in sentences.tolist()]
    assert (required == EOS).tolist() == ends
