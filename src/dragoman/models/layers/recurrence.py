"""Recurrent layers, one position at a time or stacked over whole sentences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from dragoman.core.config import Config
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.factorised_lstm import FactorisedLSTM, GroupedLSTM

# In training, a layer's weights are parts of a vector of all parameters, which cuDNN copies in each
# call, with a warning.  For two million weights, the copy takes microseconds.
warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")

Order = Literal["forward", "backward", "both"]
"""The order in which a layer reads a sentence: from its first position, from its last, or twice."""

LayerState = list[Tensor]
"""State that a layer passes on to its next position, ``(rows, d_model)`` each: ``[h, c]`` of an
LSTM, ``[h]`` of the other cells.
"""

RESIDUAL_FROM = 2
"""Index of the first layer with a residual connection, the third from the bottom (Wu et al. 2016,
section 3.1)."""


class CellConfig(Config):
    """What a recurrent layer computes at each position; an LSTM by default."""

    cell: Literal["lstm", "gru", "tanh", "factorised_lstm", "grouped_lstm"] = "lstm"
    """Recurrent unit, as implemented in PyTorch: lstm (Luong, GNMT), gru (Bahdanau), or tanh
    without gates (Elman 1990). With fewer weights (Kuchaiev and Ginsburg 2017): an LSTM whose gates
    come from two small matrices (factorised_lstm) or from independent groups (grouped_lstm)."""
    cell_rank: int = Field(64, ge=1)
    """Rank of the map to the gates of a factorised LSTM; saves weights if it is well below
    d_model."""
    cell_groups: int = Field(2, ge=2)
    """Number of independent groups of a grouped LSTM; must divide d_model."""

    def conflicts(self) -> Iterator[str]:
        """Yield settings that the chosen cell does not read."""
        if self.cell != "factorised_lstm":
            yield from self.unread("without cell: factorised_lstm", "cell_rank")
        if self.cell != "grouped_lstm":
            yield from self.unread("without cell: grouped_lstm", "cell_groups")

    def conflicts_with(self, d_model: int) -> Iterator[str]:
        """Yield a width that the groups do not divide."""
        if self.cell == "grouped_lstm" and d_model % self.cell_groups:
            yield f"d_model {d_model} is not divisible by cell_groups {self.cell_groups}"

    @property
    def state_parts(self) -> int:
        """Number of tensors in a layer's state."""
        return 1 if self.cell in {"gru", "tanh"} else 2


def recurrent_layer(config: CellConfig, width: int, d_model: int, directions: int = 1) -> nn.Module:
    """One layer: LSTM (Hochreiter & Schmidhuber 1997), GRU (Cho et al. 2014) or another cell.

    PyTorch's GRU, like cuDNN's, applies the reset gate after the product with the recurrent matrix,
    whereas the paper applies it before.  The tanh cell is ``tanh(W x_t + U h_(t-1) + b)`` (Elman
    1990).  With 2 directions, the layer also reads from the end, and the outputs are concatenated.
    """
    if config.cell == "factorised_lstm":
        return FactorisedLSTM(width, d_model, config.cell_rank, directions)
    if config.cell == "grouped_lstm":
        return GroupedLSTM(width, d_model, config.cell_groups, directions)
    kinds: dict[str, Callable[..., nn.RNNBase]] = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN}
    return kinds[config.cell](width, d_model, batch_first=True, bidirectional=directions == 2)


def initialise_uniformly(model: nn.Module, d_model: int, initial_range: float | None) -> None:
    """Draw every weight and bias uniformly between minus and plus ``initial_range``.

    The default is the 0.1 of Luong et al. 2015, section 4.1, for 1,000 units, scaled by the inverse
    root of the width, so that the sums in a unit are equally large at any width.  With a smaller
    range, outputs hardly depend on the words at first, and gradients reach lower layers late.
    """
    if initial_range is None:
        initial_range = 0.1 * (1000 / d_model) ** 0.5
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -initial_range, initial_range)


def backwards(x: Tensor, mask: Tensor) -> Tensor:
    """Reverse the pieces of each sentence, leaving end symbol and padding in place.

    Applying it twice changes nothing.  ``x`` has ids ``(batch, length)`` or vectors
    ``(batch, length, width)``; True in ``mask`` is a real token.
    """
    places = torch.arange(mask.shape[1], device=mask.device)
    last = mask.sum(1, keepdim=True) - 2  # (batch, 1): place of the last piece before the end
    places = torch.where(places <= last, last - places, places)  # (batch, length)
    return x.gather(1, places if x.dim() == 2 else places.unsqueeze(2).expand_as(x))


def advance(layer: nn.Module, x: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
    """Read further positions in one direction from the state after those before.

    Returns:
        Outputs ``(rows, length, d_model)``, and the state after these positions.
    """
    begin = [part.unsqueeze(0) for part in state]  # (1, rows, d_model)
    output, final = layer(x, tuple(begin) if len(begin) > 1 else begin[0])
    return output, _last(final)


def fast_forward(layer: nn.Module, x: Tensor) -> Tensor:
    """``Half(f)``: passed by a fast-forward connection to the layer above (Zhou et al. 2016).

    Their LSTM adds ``f = W_f x`` to ``W_r h``, its last output times a matrix, and computes
    candidate and gates from the sum.  Half of f, here the candidate's and the input gate's, goes to
    the layer above beside the output: a path without recurrence or non-linearity from layer to
    layer.  ``layer`` is a :class:`torch.nn.LSTM` of one direction.

    Returns:
        ``(..., 2 d_model)``, from the layer's input ``(..., width)``.
    """
    lstm = cast(nn.LSTM, layer)

    def half(gates: Tensor) -> Tensor:  # of four: input gate, forget gate, candidate, output gate
        return gates.unflatten(0, (4, -1))[::2].flatten(0, 1)

    return functional.linear(
        x, half(cast(Tensor, lstm.weight_ih_l0)), half(cast(Tensor, lstm.bias_ih_l0))
    )


def steady_fast_forward(layers: Iterable[nn.Module], d_model: int) -> None:
    """Scale initial weights so that fast-forward connections preserve the variance of their input.

    With weights between minus and plus r, ``2 d_model`` inputs multiply the variance of ``f`` by
    ``2 d_model r^2 / 3`` per layer, without a bound.  With the default of
    :func:`initialise_uniformly` the factor is 6.7, so that the gates of upper layers hardly move
    (on a toy task, six layers then learned nothing).  This function makes it 1.  ``layers`` are
    :class:`torch.nn.LSTM`, drawn with that default.
    """
    with torch.no_grad():
        for layer in layers:
            cast(Tensor, layer.weight_ih_l0)[:, : 2 * d_model] *= 0.15**0.5


class RecurrentStack(nn.Module):
    """Layers over whole sentences, without padding.

    Args:
        cell: of all layers.
        d_model: width of the input, and units per layer and direction.
        orders: the order in which each layer reads.
        dropout: between layers.
        residual: whether a layer's input is added to its output, from the third layer on.
        fast_forward: whether a layer's input includes that of the layer below, see
            :func:`fast_forward`; if so, no layer may read in both directions.
    """

    def __init__(
        self,
        cell: CellConfig,
        d_model: int,
        orders: Sequence[Order],
        dropout: float,
        *,
        residual: bool = False,
        fast_forward: bool = False,
    ) -> None:
        super().__init__()
        directions = [2 if order == "both" else 1 for order in orders]
        below = [1, *(under + 2 * fast_forward for under in directions[:-1])]
        self.layers = nn.ModuleList(
            recurrent_layer(cell, d_model * under, d_model, own)
            for under, own in zip(below, directions, strict=True)
        )
        self.orders = tuple(orders)
        self.dropout = Dropout(dropout)
        self.residual, self.fast_forward = residual, fast_forward

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, list[LayerState]]:
        """Read sentences.

        Args:
            x: ``(batch, length, d_model)``.
            mask: ``(batch, length)``, True is a real token; padding only at the end.

        Returns:
            The top layer's outputs ``(batch, length, width)``, zero at padding, and the final state
            of each layer's last direction: the backward direction of two.
        """
        packed = _pack(x, mask)
        turned = _turned(packed, mask) if "backward" in self.orders else None
        ends, read = [], packed.data
        for depth, (layer, reading) in enumerate(zip(self.layers, self.orders, strict=True)):
            below: Tensor = packed.data  # (real tokens, width)
            if depth:
                given = self.dropout(below)
                if self.fast_forward:
                    given = torch.cat([fast_forward(self.layers[depth - 1], read), given], dim=-1)
                packed = packed._replace(data=given)
            read = packed.data  # this layer's input
            if reading == "backward":
                packed, final = layer(packed._replace(data=read[turned]))
                packed = packed._replace(data=packed.data[turned])
            else:
                packed, final = layer(packed)
            ends.append(_last(final))
            if self.residual and depth >= RESIDUAL_FROM:
                packed = packed._replace(data=packed.data + below)
        hidden, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
        return hidden, ends


def _turned(packed: PackedSequence, mask: Tensor) -> Tensor:
    """Index of each real token's mirror image in its packed sentence, ``(real tokens,)``."""
    places = torch.arange(mask.numel(), device=mask.device).view(mask.shape)
    order: Tensor = _pack(places.unsqueeze(2), mask).data.squeeze(1)  # token of a packed place
    place = torch.empty_like(places).flatten()
    place[order] = torch.arange(len(order), device=mask.device)  # packed place of a token
    row, column = order // mask.shape[1], order % mask.shape[1]
    return place[row * mask.shape[1] + mask.sum(1)[row] - 1 - column]


def _last(final: Tensor | tuple[Tensor, Tensor]) -> LayerState:
    """The final state of a layer's last direction, from ``(directions, rows, d_model)``."""
    parts = final if isinstance(final, tuple) else (final,)
    return [part[-1] for part in parts]


def _pack(x: Tensor, mask: Tensor) -> PackedSequence:
    """The real tokens of ``(batch, length, d_model)``; PyTorch needs lengths on the CPU."""
    if mask.is_meta:  # only sizes matter, see models.cost: treat all tokens as real
        full = torch.full(mask.shape[:1], mask.shape[1], device="cpu")
        return pack_padded_sequence(x, full, batch_first=True)
    return pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
