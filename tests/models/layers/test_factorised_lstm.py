"""LSTMs with fewer weights beside torch.nn.LSTM with the full matrices that these stand for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from dragoman.models import RecurrentConfig
from dragoman.models.layers.factorised_lstm import FactorisedLSTM, GroupedLSTM
from dragoman.models.layers.recurrence import CellConfig, recurrent_layer

WIDTH, UNITS, RANK, GROUPS = 12, 6, 2, 3
LENGTHS = [2, 5, 3, 5]


def large(layer: nn.Module) -> nn.Module:
    """Weights that take gates out of their linear range."""
    torch.manual_seed(3)
    for parameter in layer.double().parameters():
        nn.init.normal_(parameter)
    return layer


def products(ours: FactorisedLSTM) -> dict[str, Tensor]:
    """``W_2 W_1`` in place of the two factors."""
    weights = {}
    cells: list[Any] = list(ours.directions)
    for cell, suffix in zip(cells, ("", "_reverse"), strict=False):
        weights[f"weight_ih_l0{suffix}"] = cell.gates.weight @ cell.input.weight
        weights[f"weight_hh_l0{suffix}"] = cell.gates.weight @ cell.last.weight
        weights[f"bias_ih_l0{suffix}"] = cell.gates.bias
        weights[f"bias_hh_l0{suffix}"] = torch.zeros_like(cell.gates.bias)
    return weights


def with_zeros(ours: GroupedLSTM) -> dict[str, Tensor]:
    """Every group's weights where its units meet its own inputs, and zeros elsewhere."""
    weights = {}
    for name, first in ours.groups[0].named_parameters():
        columns = [] if first.dim() == 1 else [first.shape[1] * GROUPS]
        full = torch.zeros(4, UNITS, *columns).double()
        for j, group in enumerate(ours.groups):
            own = dict(group.named_parameters())[name].detach().unflatten(0, (4, -1))
            if columns:
                full[:, j::GROUPS, j::GROUPS] = own
            else:
                full[:, j::GROUPS] = own
        weights[name] = full.flatten(0, 1)
    return weights


def twins(kind: str, directions: int) -> tuple[nn.Module, nn.LSTM]:
    ours: Any
    if kind == "factorised_lstm":
        ours = large(FactorisedLSTM(WIDTH, UNITS, RANK, directions))
        weights = products(ours)
    else:
        ours = large(GroupedLSTM(WIDTH, UNITS, GROUPS, directions))
        weights = with_zeros(ours)
    theirs = nn.LSTM(WIDTH, UNITS, batch_first=True, bidirectional=directions == 2).double()
    theirs.load_state_dict(weights)
    return ours, theirs


kinds = pytest.mark.parametrize("kind", ["factorised_lstm", "grouped_lstm"])
one_or_two = pytest.mark.parametrize("directions", [1, 2])


@kinds
@one_or_two
def test_sentences_of_any_length(kind: str, directions: int) -> None:
    ours, theirs = twins(kind, directions)
    x = torch.randn(4, 5, WIDTH).double()
    packed = pack_padded_sequence(x, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False)
    found, ends = ours(packed)
    expected, final = theirs(packed)
    assert isinstance(found, PackedSequence)
    torch.testing.assert_close(found.data, expected.data)
    torch.testing.assert_close(ends, final)
    torch.testing.assert_close(ours(x), theirs(x))


@kinds
def test_goes_on_from_a_state(kind: str) -> None:
    ours, theirs = twins(kind, 1)
    x = torch.randn(4, 3, WIDTH).double()
    state = torch.randn(1, 4, UNITS).double(), torch.randn(1, 4, UNITS).double()
    torch.testing.assert_close(ours(x, state), theirs(x, state))


def test_weights_are_as_few_as_in_the_paper() -> None:
    """r (p + n) + 4 n r, and a k-th of 4 n (p + n), besides biases (sections 2.1 and 2.2)."""

    def matrices(cell: str, **sizes: int) -> int:
        layer = recurrent_layer(CellConfig(cell=cell, **sizes), WIDTH, UNITS)
        return sum(p.numel() for p in layer.parameters() if p.dim() == 2)

    assert matrices("factorised_lstm", cell_rank=2) == 2 * (12 + 6) + 4 * 6 * 2
    assert matrices("grouped_lstm", cell_groups=3) == 4 * 6 * (12 + 6) // 3
    assert matrices("tanh") == 6 * (12 + 6)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"cell_rank": 8}, "cell_rank: 8 is not read without cell: factorised_lstm"),
        ({"cell_groups": 4}, "cell_groups: 4 is not read without cell: grouped_lstm"),
        ({"cell": "grouped_lstm", "cell_groups": 3}, "1000 is not divisible by cell_groups 3"),
    ],
)
def test_what_does_not_fit_together_is_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecurrentConfig(**choices)
