"""Encoders of a recurrent decoder's source: recurrent layers, or averages of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dragoman.models.layers.averaging_encoder import AveragingEncoder
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import LearnedPositions
from dragoman.models.layers.recurrence import Cell, LayerState, RecurrentStack, backwards


class SourceRead(NamedTuple):
    """A source as a recurrent decoder uses it."""

    scored: Tensor
    """What queries are compared with, ``(batch, source, width)``."""
    seen: Tensor
    """What queries see a weighted sum of, of the same shape."""
    ends: list[LayerState]
    """Final states, which initialise the decoder; tensors ``(batch, d_model)``."""


class RecurrentEncoder(RecurrentStack):
    """Recurrent layers whose outputs are attended to and whose final states initialise the decoder.

    Other arguments are those of :class:`RecurrentStack`.

    Args:
        from_end: read from the last piece to the first, then the end symbol (Sutskever et al.
            2014, section 3.3).  Outputs keep the order of the pieces all the same.
    """

    def __init__(
        self,
        cell: Cell,
        d_model: int,
        directions: Sequence[int],
        dropout: float,
        *,
        residual: bool,
        from_end: bool,
    ) -> None:
        super().__init__(cell, d_model, directions, dropout, residual=residual)
        self.from_end = from_end

    def read(self, embedded: Tensor, mask: Tensor) -> SourceRead:
        """Read embeddings ``(batch, source, d_model)``; True in ``mask`` is a real token."""
        x = self.dropout(embedded)
        hidden, ends = self(backwards(x, mask) if self.from_end else x, mask)
        if self.from_end:
            hidden = backwards(hidden, mask)
        return SourceRead(hidden, hidden, ends)


class FirstState(nn.Module):
    """``s_0 = tanh(W_s h)`` for each decoder layer (Bahdanau et al. 2015, appendix A.2.2).

    The formula is for a GRU; an LSTM's memory cell starts from zero.
    """

    def __init__(self, d_model: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(layers))

    def forward(self, ends: list[LayerState]) -> list[LayerState]:
        """From the final states of the encoder layers, of which only the top one is used."""
        hidden, *cell = ends[-1]
        return [
            [layer(hidden).tanh(), *(torch.zeros_like(part) for part in cell)]
            for layer in self.layers
        ]


class AveragedEmbeddings(nn.Module):
    """The averaging encoder for a recurrent decoder (Ranzato et al. 2016).

    Learned position vectors are added to embeddings; queries are compared with averages of these
    sums over a window, and see the sums themselves.  Nothing else of the source reaches the
    decoder: its states start from zero, as in the program of Gehring et al. 2016
    (arXiv:1611.02344), who compare their encoders with this one.

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
        """Read embeddings ``(batch, source, d_model)``; True in ``mask`` is a real token.

        Raises:
            DataError: a sentence is longer than the positions that the model has learned.
        """
        placed = self.dropout(embedded + self.positions(0, embedded.shape[1]))
        scored, seen = self.averaging(placed, mask)
        zeros = embedded.new_zeros(len(embedded), embedded.shape[2])
        return SourceRead(scored, seen, [[zeros] * self._parts] * self._layers)
