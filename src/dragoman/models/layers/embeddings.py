"""Vectors of pieces, and the sharing of their matrices.

Press and Wolf 2017; Vaswani et al. 2017, sections 3.4 and 3.5.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.core.config import Config
from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.positions import PositionalEncodingConfig, added_positions
from dragoman.models.layers.sublayers import ResidualConfig, normalization

Sharing = Literal["shared", "target", "inputs", "separate"]
"""shared: one matrix for source, target and output; target: one for target and output; inputs: one
for source and target; separate: three matrices."""

OUTPUT_TIED: Collection[str] = ("shared", "target")
"""Choices whose output has the matrix of the target."""
SIDES_TIED: Collection[str] = ("shared", "inputs")
"""Choices whose source and target have one matrix, which needs a joint vocabulary."""


class EmbeddingConfig(Config):
    """Vectors of pieces, and scores by them; the defaults are the paper's."""

    scale_embeddings: bool = True
    """Whether embeddings and learned positions are multiplied by sqrt(d_model) (the paper, section
    3.4)."""
    normalize_embeddings: bool = False
    """Whether the sum of embedding and position is normalised, as in mBART; not in the paper."""
    output_bias: bool = False
    """Whether the score of each target piece has a bias; not in the paper."""

    def scale(self, d_model: int) -> float:
        """The factor of embeddings."""
        return d_model**0.5 if self.scale_embeddings else 1.0


_PAPERS = EmbeddingConfig()


def output_layer(d_model: int, pieces: int, config: EmbeddingConfig, sharing: Sharing) -> nn.Linear:
    """Linear layer from hidden vectors to scores of all pieces, initialised like an embedding."""
    layer = nn.Linear(d_model, pieces, config.output_bias)
    if sharing not in OUTPUT_TIED:  # otherwise it is replaced, see tie
        nn.init.normal_(layer.weight, std=d_model**-0.5)
    if config.output_bias:
        nn.init.zeros_(layer.bias)
    return layer


def tie(sharing: Sharing, source: nn.Module | None, target: nn.Module, output: nn.Module) -> None:
    """Tie the matrices that are shared: the ``weight`` of each module, ``(vocabulary, d_model)``.

    The source's matrix is kept with its values, or else the target's.  A model that reads no
    source has no source matrix.
    """
    if source is not None and sharing in SIDES_TIED:
        target.weight = source.weight
    if sharing in OUTPUT_TIED:
        output.weight = target.weight


class Embedding(nn.Module):
    """``E[id] * sqrt(d_model) + position``, then dropout (sections 3.4, 3.5 and 5.4).

    With ``normalize_embeddings``, the sum is normalised before dropout.
    Learned positions are multiplied by ``sqrt(d_model)`` if embeddings are, see
    :class:`EmbeddingConfig`.

    Args:
        pieces: rows of E.
        d_model: width.
        positions: kind of the added vectors, if any.
        residual: dropout on the sum, and the kind of its normalisation.
        config: whether embeddings are scaled, and their sum with positions normalised.
        begins_empty: position 0 has zeros in place of an embedding.
    """

    def __init__(
        self,
        pieces: int,
        d_model: int,
        positions: PositionalEncodingConfig,
        residual: ResidualConfig,
        config: EmbeddingConfig = _PAPERS,
        *,
        begins_empty: bool = False,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(pieces, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)
        self.positions = added_positions(d_model, positions, config.scale(d_model))
        self.norm = (
            normalization(d_model, residual) if config.normalize_embeddings else nn.Identity()
        )
        self.dropout = Dropout(residual.dropout)
        self.scale = config.scale(d_model)
        self.begins_empty = begins_empty

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """``(rows, length)`` at positions from ``start`` on, to ``(rows, length, d_model)``."""
        vectors = functional.embedding(ids, self.weight) * self.scale
        if self.begins_empty:
            later = torch.arange(start, start + ids.shape[1], device=ids.device) > 0  # (length,)
            vectors = vectors * later.unsqueeze(1)
        if self.positions is not None:  # (rows, length, d_model) + (length, d_model)
            vectors = vectors + self.positions(start, ids.shape[1])
        return self.dropout(self.norm(vectors))
