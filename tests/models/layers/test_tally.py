"""Sums over passes that go on after a checkpoint."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dragoman.models.layers.tally import Tally, restore_tallies, tallies


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Tally(), nn.Linear(2, 2), Tally()])


def tally_of(model: Model, place: int) -> Tally:
    found = model.parts[place]
    assert isinstance(found, Tally)
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_sums_that_were_kept_go_on_as_if_nothing_had_happened(dtype: torch.dtype) -> None:
    values = torch.tensor([[1, 2, 2**24], [3, 0, 5]]).to(dtype)
    whole, first, second = Model(), Model(), Model()
    for _ in range(2):
        tally_of(whole, 0).add(values)
    tally_of(first, 0).add(values)
    kept = tallies(first)
    assert kept == {"parts.0": values.tolist()}
    tally_of(second, 2).add(values)  # which the checkpoint does not have
    restore_tallies(second, kept)
    tally_of(second, 0).add(values)
    assert tallies(second) == tallies(whole)
    sums = tally_of(second, 0).take()
    assert sums is not None
    assert torch.equal(sums, 2 * values)
    assert sums.dtype == dtype
    assert tallies(second) == {}
    assert not list(second.parts[0].parameters())
