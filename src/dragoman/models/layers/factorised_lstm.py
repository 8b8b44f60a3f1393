"""LSTMs with fewer weights (Kuchaiev and Ginsburg 2017, "Factorization tricks for LSTM networks").

An LSTM computes its gates from the input and its last output by one affine map
``T: R^2n -> R^4n`` (section 1, equation 2).  :class:`FactorisedLSTM` makes it a product of two
smaller matrices, :class:`GroupedLSTM` several independent blocks.  Both are called like
:class:`torch.nn.LSTM` with ``batch_first=True`` and one layer, over tensors or packed sequences.
With 2 directions they also read from the end, and the outputs are concatenated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

CellState = tuple[Tensor, Tensor]
"""``h`` and ``c`` of an LSTM."""

Positions = TypeVar("Positions", Tensor, PackedSequence)


class FactorisedLSTM(nn.Module):
    """F-LSTM: the map to the gates has a low rank, ``T = W_2 W_1`` (section 2.1, equation 3).

    ``W_1``, ``(rank, width + d_model)``, reads input and last output, and ``W_2``, ``(4 d_model,
    rank)``, computes the gates.  With a rank (r in the paper) far below d_model, both have few
    weights and operations.
    """

    def __init__(self, width: int, d_model: int, rank: int, directions: int = 1) -> None:
        super().__init__()
        self.d_model = d_model
        self.directions = nn.ModuleList(
            FactorisedCell(width, d_model, rank) for _ in range(directions)
        )

    def forward(self, x: Positions, state: CellState | None = None) -> tuple[Positions, CellState]:
        """Read ``(rows, length, width)``, or such sentences without padding.

        ``state`` is ``(directions, rows, d_model)`` each; zeros by default, as for a packed
        sequence.
        """
        steps = (
            list(x.data.split(x.batch_sizes.tolist()))
            if isinstance(x, PackedSequence)
            else list(x.unbind(1))
        )  # (sentences that go on, width) of each position
        if state is None:
            zeros = steps[0].new_zeros(len(self.directions), len(steps[0]), self.d_model)
            state = zeros, zeros
        outputs, ends = [], []
        for number, cell in enumerate(self.directions):
            start = state[0][number], state[1][number]
            output, end = cast(FactorisedCell, cell).read(steps, start, backward=number == 1)
            outputs.append(output)
            ends.append(end)
        joined = [torch.cat(parts, dim=-1) for parts in zip(*outputs, strict=True)]
        h, c = (torch.stack(parts) for parts in zip(*ends, strict=True))
        if not isinstance(x, PackedSequence):
            return torch.stack(joined, dim=1), (h, c)
        if x.unsorted_indices is not None:
            h, c = (part.index_select(1, x.unsorted_indices) for part in (h, c))
        return x._replace(data=torch.cat(joined)), (h, c)


class FactorisedCell(nn.Module):
    """One direction of a :class:`FactorisedLSTM`.

    ``W_1`` is in two parts, so that the input's part reads all positions at once.
    """

    def __init__(self, width: int, d_model: int, rank: int) -> None:
        super().__init__()
        self.input = nn.Linear(width, rank, bias=False)
        self.last = nn.Linear(d_model, rank, bias=False)
        self.gates = nn.Linear(rank, 4 * d_model)

    def read(
        self, steps: Sequence[Tensor], state: CellState, *, backward: bool
    ) -> tuple[list[Tensor], CellState]:
        """Read positions; fewer sentences may reach later positions, always the first ones.

        Args:
            steps: ``(sentences that go on, width)`` of each position.
            state: before the first position that is read, ``(sentences, d_model)`` each.
            backward: read from each sentence's last position to its first.

        Returns:
            The outputs in the order of ``steps``, and the state after the last position read.
        """
        sizes = [len(step) for step in steps]
        reduced = self.input(torch.cat(list(steps))).split(sizes)
        h, c = state[0][: sizes[-1]], state[1][: sizes[-1]]
        if not backward:
            h, c = state
        outputs, ended = [], []
        for x in reversed(reduced) if backward else reduced:
            if len(x) < len(h):
                ended.append((h[len(x) :], c[len(x) :]))
                h, c = h[: len(x)], c[: len(x)]
            elif len(x) > len(h):  # some sentences have their last position here
                h, c = (
                    torch.cat([now, first[len(now) : len(x)]])
                    for now, first in zip((h, c), state, strict=True)
                )
            i, f, g, o = self.gates(x + self.last(h)).chunk(4, dim=-1)  # (sentences, d_model)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        ended.append((h, c))
        h, c = (torch.cat(parts) for parts in zip(*reversed(ended), strict=True))
        return outputs[::-1] if backward else outputs, (h, c)


class GroupedLSTM(nn.Module):
    """G-LSTM: independent groups of inputs and units (section 2.2, equation 4).

    Group ``j`` of ``k`` has every k-th element of the input, of the outputs and of the state, from
    the j-th on.  A group of the layer above therefore reads the units of the same group, as in the
    paper.  Every group also gets its share of each part of a concatenated input, such as an
    embedding and the vector of input feeding; the paper's contiguous slices would give a part to
    few groups.  ``width`` and ``d_model`` are multiples of ``groups``.
    """

    def __init__(self, width: int, d_model: int, groups: int, directions: int = 1) -> None:
        super().__init__()
        self.directions = directions
        self.groups = nn.ModuleList(
            nn.LSTM(
                width // groups, d_model // groups, batch_first=True, bidirectional=directions == 2
            )
            for _ in range(groups)
        )

    def forward(self, x: Positions, state: CellState | None = None) -> tuple[Positions, CellState]:
        """Read as :class:`FactorisedLSTM` does."""
        k = len(self.groups)
        outputs, ends = [], []
        for j, group in enumerate(self.groups):
            own = None if state is None else tuple(part[..., j::k].contiguous() for part in state)
            if isinstance(x, PackedSequence):
                output, end = group(x._replace(data=x.data[:, j::k]), own)
                outputs.append(output.data)
            else:
                output, end = group(x[..., j::k], own)
                outputs.append(output)
            ends.append(end)
        # (..., directions, units of a group, groups) to (..., directions * d_model)
        parts = [output.unflatten(-1, (self.directions, -1)) for output in outputs]
        joined = torch.stack(parts, dim=-1).flatten(-3)
        h, c = (torch.stack(each, dim=-1).flatten(-2) for each in zip(*ends, strict=True))
        if isinstance(x, PackedSequence):
            return x._replace(data=joined), (h, c)
        return joined, (h, c)
