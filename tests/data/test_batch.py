"""Candidates of sentences as tensors."""

from __future__ import annotations

from dataclasses import replace

import torch

from dragoman.data.batch import Outputs, RatedCandidates
from dragoman.data.batches import make_batch

OUTPUTS = [
    Outputs([[5, 6], [7], []], [1.0, 0.25, 0.0], [0.0, 2.0, 1.0]),
    Outputs([[8]], [1.0], [1.0]),
]


def test_outputs_are_padded_in_both_directions() -> None:
    found = RatedCandidates.of(OUTPUTS, torch.device("cpu"))
    assert found.target_input.tolist() == [
        [[2, 5, 6], [2, 7, 0], [2, 0, 0]],
        [[2, 8, 0], [0, 0, 0], [0, 0, 0]],
    ]
    assert found.target_output.tolist() == [
        [[5, 6, 3], [7, 3, 0], [3, 0, 0]],
        [[8, 3, 0], [0, 0, 0], [0, 0, 0]],
    ]
    assert found.rewards.tolist() == [[1.0, 0.25, 0.0], [1.0, 0.0, 0.0]]
    assert found.times.tolist() == [[0.0, 2.0, 1.0], [1.0, 0.0, 0.0]]


def test_a_batch_keeps_them_when_some_of_its_pairs_are_selected() -> None:
    batch = make_batch([[5], [6]], [[5, 6], [8]])
    batch = replace(batch, candidates=RatedCandidates.of(OUTPUTS, torch.device("cpu")))
    chosen = batch.select(torch.tensor([1])).candidates
    assert chosen is not None
    assert chosen.target_output.tolist() == [[[8, 3, 0], [0, 0, 0], [0, 0, 0]]]
    assert chosen.times.tolist() == [[1.0, 0.0, 0.0]]
