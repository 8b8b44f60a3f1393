"""Encoders of a recurrent decoder's source: recurrent layers, or averages of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from dragoman.models.layers.averaging_encoder import AveragingEncoder
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import LearnedPositions
from dragoman.models.layers.recurrence import (
    CellConfig,
    LayerState,
    Order,
    RecurrentStack,
    backwards,
)


class SourceRead(NamedTuple):
    """A source as a recurrent decoder uses it."""

    scored: Tensor
    """Vectors that queries are compared with, ``(batch, source, width)``."""
    seen: Tensor
    """Vectors that queries see a weighted sum of, of the same shape."""
    ends: list[LayerState]
    """Final states, which initialise the decoder; tensors ``(batch, d_model)``."""


class RecurrentEncoder(RecurrentStack):
    """Recurrent layers whose outputs are attended to and whose final states initialise the decoder.

    Args:
        cell: of all layers.
        d_model: width of the input, and units per layer and direction.
        orders: the order in which each layer reads.
        dropout: on the input and between layers.
        from_end: read from the last piece to the first, then the end symbol (Sutskever et al.
            2014, section 3.3).  Outputs still keep the order of the pieces.
        connections: of :class:`RecurrentStack`.
    """

    def __init__(
        self,
        cell: CellConfig,
        d_model: int,
        orders: Sequence[Order],
        dropout: float,
        *,
        from_end: bool,
        **connections: bool,
    ) -> None:
        super().__init__(cell, d_model, orders, dropout, **connections)
        self.from_end = from_end

    def read(self, embedded: Tensor, mask: Tensor) -> SourceRead:
        """Read embeddings ``(batch, source, d_model)``; True in ``mask`` is a real token."""
        hidden, ends = _read(self, self.dropout(embedded), mask, from_end=self.from_end)
        return SourceRead(hidden, hidden, ends)


class InterleavedEncoder(nn.Module):
    """Two columns of layers whose directions alternate (Zhou et al. 2016, section 3.2, Deep-Att).

    The bottom layer of one column reads forward, the next backward, and so on; the layers of the
    other column read in the opposite directions.  Both columns read the same embeddings, and meet
    only in the concatenation of their outputs, ``(batch, source, 2 d_model)``.  Zhou et al. also
    concatenate ``f`` of the top layers, and project all to a quarter of the width.  The final
    states are those of the column whose top layer reads backward, and so ends at the first word.

    Arguments are those of :class:`RecurrentEncoder`, with the orders of either column.
    """

    def __init__(
        self,
        cell: CellConfig,
        d_model: int,
        columns: Sequence[Sequence[Order]],
        dropout: float,
        *,
        from_end: bool,
        **connections: Any,
    ) -> None:
        super().__init__()
        self.columns = nn.ModuleList(
            RecurrentStack(cell, d_model, orders, dropout, **connections) for orders in columns
        )
        self.dropout = Dropout(dropout)
        self.from_end = from_end

    def read(self, embedded: Tensor, mask: Tensor) -> SourceRead:
        """Read embeddings ``(batch, source, d_model)``; True in ``mask`` is a real token."""
        x = self.dropout(embedded)
        outputs, final = [], []
        for column in self.columns:
            stack = cast(RecurrentStack, column)
            hidden, ends = _read(stack, x, mask, from_end=self.from_end)
            outputs.append(hidden)
            if stack.orders[-1] == "backward":
                final = ends
        hidden = torch.cat(outputs, dim=-1)  # (batch, source, 2 * d_model)
        return SourceRead(hidden, hidden, final)


def _read(
    stack: RecurrentStack, x: Tensor, mask: Tensor, *, from_end: bool
) -> tuple[Tensor, list[LayerState]]:
    """Outputs in the order of the pieces, and final states; see :class:`RecurrentEncoder`."""
    hidden, ends = stack(backwards(x, mask) if from_end else x, mask)
    return backwards(hidden, mask) if from_end else hidden, ends


class FirstState(nn.Module):
    """``s_0 = tanh(W_s h)`` for each decoder layer (Bahdanau et al. 2015, appendix A.2.2).

    The formula is for a GRU; an LSTM's memory cell starts from zero.
    """

    def __init__(self, d_model: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(layers))

    def forward(self, ends: list[LayerState]) -> list[LayerState]:
        """Initial states from the top layer's final states; those of lower layers are not used."""
        hidden, *cell = ends[-1]
        return [
            [layer(hidden).tanh(), *(torch.zeros_like(part) for part in cell)]
            for layer in self.layers
        ]


class AveragedEmbeddings(nn.Module):
    """The averaging encoder for a recurrent decoder (Ranzato et al. 2016).

    Learned position vectors are added to embeddings.  Queries are compared with averages of these
    sums over a window, and see the sums themselves.  The decoder gets nothing else from the source:
    its states start from zero, as in the program of Gehring et al. 2016 (arXiv:1611.02344), who
    compare their encoders with this one.

    Args:
        d_model: width of embeddings, and units of a decoder layer.
        window: number of positions averaged; odd.
        max_positions: number of position vectors.
        dropout: on the sum of embedding and position.
        layers: number of decoder layers.
        parts: number of tensors in a layer's state, 2 for an LSTM.
    """

    def __init__(
        self,
        d_model: int,
        window: int,
        max_positions: int,
        dropout: float,
        *,
        layers: int,
        parts: int,
    ) -> None:
        super().__init__()
        self.positions = LearnedPositions(d_model, max_positions)
        self.dropout = Dropout(dropout)
        self.averaging = AveragingEncoder(window)
        self._layers, self._parts = layers, parts

    def read(self, embedded: Tensor, mask: Tensor) -> SourceRead:
        """Read embeddings ``(batch, source, d_model)``; True in ``mask`` is a real token."""
        placed = self.dropout(embedded + self.positions(0, embedded.shape[1]))
        scored, seen = self.averaging(placed, mask)
        zeros = embedded.new_zeros(len(embedded), embedded.shape[2])
        return SourceRead(scored, seen, [[zeros] * self._parts] * self._layers)
