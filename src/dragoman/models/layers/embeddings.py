"""Vectors of pieces, and which of their matrices are shared.

Press and Wolf 2017; Vaswani et al. 2017, sections 3.4 and 3.5.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import PositionalEncodingConfig, added_positions

Sharing = Literal["shared", "target", "separate"]
"""shared: one matrix for source, target and output; target: one for target and output; separate:
three matrices."""


def tie(sharing: Sharing, source: nn.Module | None, target: nn.Module, output: nn.Module) -> None:
    """Tie the matrices that are shared: the ``weight`` of each module, ``(vocabulary, d_model)``.

    The source's matrix is kept with its values, or else the target's.  A model that reads no
    source has no source matrix.
    """
    if source is not None and sharing == "shared":
        target.weight = source.weight
    if sharing != "separate":
        output.weight = target.weight


class Embedding(nn.Module):
    """``E[id] * sqrt(d_model) + position``, then dropout (sections 3.4, 3.5 and 5.4).

    Learned positions are multiplied by ``sqrt(d_model)``, too.

    Args:
        pieces: number of rows of E, one per piece of the vocabulary.
        d_model: width.
        positions: which vectors are added, if any.
        dropout: on the sum.
    """

    def __init__(
        self, pieces: int, d_model: int, positions: PositionalEncodingConfig, dropout: float
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(pieces, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)
        self.positions = added_positions(d_model, positions)
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """``(rows, length)`` at positions from ``start`` on, to ``(rows, length, d_model)``."""
        vectors = functional.embedding(ids, self.weight) * self.weight.shape[1] ** 0.5
        if self.positions is not None:  # (rows, length, d_model) + (length, d_model)
            vectors = vectors + self.positions(start, ids.shape[1])
        return self.dropout(vectors)
