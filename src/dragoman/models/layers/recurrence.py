"""Recurrent layers, one position at a time or stacked over whole sentences; PyTorch's own cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from dragoman.models.layers.dropout import Dropout

Cell = Literal["lstm", "gru"]

LayerState = list[Tensor]
"""What a layer passes on to its next position, ``(rows, d_model)`` each: ``[h, c]`` of an LSTM,
``[h]`` of a GRU."""

RESIDUAL_FROM = 2
"""Index of the first layer with a residual connection, the third from the bottom (Wu et al. 2016,
section 3.1)."""


def recurrent_layer(cell: Cell, width: int, d_model: int, directions: int = 1) -> nn.RNNBase:
    """One layer: LSTM (Hochreiter & Schmidhuber 1997) or GRU (Cho et al. 2014).

    PyTorch's GRU, like cuDNN's, applies the reset gate after the product with the recurrent matrix;
    the paper applies it before.

    Args:
        cell: LSTM or GRU.
        width: of the input.
        d_model: units in each direction.
        directions: 2 to read from the end as well; the outputs are then concatenated.
    """
    kind = nn.LSTM if cell == "lstm" else nn.GRU
    return kind(width, d_model, batch_first=True, bidirectional=directions == 2)


def initialise_uniformly(model: nn.Module, d_model: int, initial_range: float | None) -> None:
    """Draw every weight uniformly between minus and plus ``initial_range``.

    Luong et al. 2015, section 4.1, have 0.1 for 1,000 units, which is the default; scaled by the
    inverse root of the width, it keeps the sums in a unit equally large.  With a smaller range,
    outputs at first hardly depend on the words, and gradients reach lower layers late.

    Args:
        model: the model, all of whose parameters are drawn, including biases.
        d_model: its width.
        initial_range: above 0, or None for Luong's range, scaled to the width.
    """
    if initial_range is None:
        initial_range = 0.1 * (1000 / d_model) ** 0.5
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -initial_range, initial_range)


def backwards(x: Tensor, mask: Tensor) -> Tensor:
    """Reverse the pieces of each sentence, leaving end symbol and padding in place.

    Applying it twice changes nothing.

    Args:
        x: ids ``(batch, length)`` or vectors ``(batch, length, width)``, each sentence closed by
            the end symbol, then padding.
        mask: ``(batch, length)``, True is a real token.
    """
    places = torch.arange(mask.shape[1], device=mask.device)
    last = mask.sum(1, keepdim=True) - 2  # (batch, 1): place of the last piece before the end
    places = torch.where(places <= last, last - places, places)  # (batch, length)
    return x.gather(1, places if x.dim() == 2 else places.unsqueeze(2).expand_as(x))


def advance(layer: nn.Module, x: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
    """Read further positions: ``(rows, length, width)`` to ``(rows, length, d_model)``.

    Args:
        layer: of one direction.
        x: its input.
        state: after the positions before.

    Returns:
        The outputs, and the state after these positions.
    """
    begin = [part.unsqueeze(0) for part in state]  # (1, rows, d_model)
    output, final = layer(x, tuple(begin) if len(begin) > 1 else begin[0])
    return output, _last(final)


class RecurrentStack(nn.Module):
    """Layers over whole sentences, without padding.

    Args:
        cell: of all layers.
        d_model: width of the input, and units per layer and direction.
        directions: 1 or 2 for each layer.
        dropout: between layers.
        residual: whether a layer's input is added to its output, from the third layer on.
    """

    def __init__(
        self, cell: Cell, d_model: int, directions: Sequence[int], dropout: float, *, residual: bool
    ) -> None:
        super().__init__()
        below = [1, *directions[:-1]]
        self.layers = nn.ModuleList(
            recurrent_layer(cell, d_model * under, d_model, own)
            for under, own in zip(below, directions, strict=True)
        )
        self.dropout = Dropout(dropout)
        self.residual = residual

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, list[LayerState]]:
        """Read sentences.

        Args:
            x: ``(batch, length, d_model)``.
            mask: ``(batch, length)``, True is a real token; padding only at the end.

        Returns:
            The top layer's outputs ``(batch, length, width)``, zero at padding, and the final state
            of each layer's last direction: the backward one if there are two.
        """
        packed = _pack(x, mask)
        ends = []
        for depth, layer in enumerate(self.layers):
            below: Tensor = packed.data  # (real tokens, width)
            if depth:
                packed = packed._replace(data=self.dropout(below))
            packed, final = layer(packed)
            ends.append(_last(final))
            if self.residual and depth >= RESIDUAL_FROM:
                packed = packed._replace(data=packed.data + below)
        hidden, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
        return hidden, ends


def _last(final: Tensor | tuple[Tensor, Tensor]) -> LayerState:
    """The final state of a layer's last direction, from ``(directions, rows, d_model)``."""
    parts = final if isinstance(final, tuple) else (final,)
    return [part[-1] for part in parts]


def _pack(x: Tensor, mask: Tensor) -> PackedSequence:
    """The real tokens of ``(batch, length, d_model)``; PyTorch needs lengths on the CPU."""
    if mask.is_meta:  # only sizes matter, see models.cost: treat everything as real
        full = torch.full(mask.shape[:1], mask.shape[1], device="cpu")
        return pack_padded_sequence(x, full, batch_first=True)
    return pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
