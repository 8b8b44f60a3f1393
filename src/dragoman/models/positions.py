"""Position information added to embeddings (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.errors import DataError


def sinusoids(length: int, d_model: int) -> Tensor:
    """Interleaved sine and cosine, ``(length, d_model)``, computed in float64.

    ``PE(pos, 2i) = sin(pos / 10000^(2i / d_model))`` and ``PE(pos, 2i + 1)`` its cosine.
    """
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000 ** (even / d_model)
    table = torch.zeros(length, d_model, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : d_model // 2]
    return table


class SinusoidalPositions(nn.Module):
    """The paper's fixed positions; the table grows with the longest sentence seen."""

    def __init__(self, d_model: int, length: int = 256) -> None:
        super().__init__()
        self.d_model = d_model
        self.table: Tensor
        self.register_buffer("table", sinusoids(length, d_model).float(), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Vectors of positions ``start`` to ``start + length``, ``(length, d_model)``."""
        end = start + length
        if end > len(self.table):
            self.table = sinusoids(2 * end, self.d_model).to(self.table)
        return self.table[start:end]


class LearnedPositions(nn.Module):
    """One learned vector a position (Table 3 row E; Gehring et al. 2017)."""

    def __init__(self, d_model: int, maximum: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(maximum, d_model))
        nn.init.normal_(self.table, std=d_model**-0.5)

    def forward(self, start: int, length: int) -> Tensor:
        """Vectors of positions ``start`` to ``start + length``, ``(length, d_model)``.

        Raises:
            DataError: a sentence is longer than the positions that the model has learned.
        """
        if start + length > len(self.table):
            raise DataError(
                f"a sentence needs {start + length} positions, the model has learned "
                f"{len(self.table)}; shorten it or train with a larger model.max_positions"
            )
        return self.table[start : start + length]
