"""Embeddings of other toolkits in the order of our vocabularies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.core.errors import DataError
from dragoman.exchange.weight_layout import with_rows
from dragoman.text.vocabularies.foreign_vocabulary import Numbered
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class PieceMatrices:
    """What a Transformer knows of each piece, in the rows of the other toolkit."""

    source: Tensor  # (source pieces, d_model)
    target: Tensor  # (target pieces, d_model)
    output: Tensor  # (target pieces, d_model)
    bias: Tensor | None  # (target pieces,)

    def check_rows(self, sizes: tuple[int, int], where: Path) -> None:
        """Refuse matrices that have not one row for each entry of the dictionaries.

        Raises:
            DataError: they do not belong together.
        """
        for name, size in (("source", sizes[0]), ("target", sizes[1]), ("output", sizes[1])):
            tensor: Tensor = getattr(self, name)
            if tensor.dim() != 2 or len(tensor) != size:
                raise DataError(
                    f"{where}: the {name} embeddings have the shape {list(tensor.shape)}, but the "
                    f"dictionary has {size} pieces; its files do not belong together"
                )
        if self.bias is not None and self.bias.shape != (sizes[1],):
            raise DataError(
                f"{where}: the output bias has the shape {list(self.bias.shape)}, but the "
                f"dictionary has {sizes[1]} pieces; its files do not belong together"
            )

    def ours(
        self, sides: tuple[Numbered, Numbered], *, zero_start: bool = False
    ) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The matrices in the order of our vocabularies.

        Matrices are one here if their content is the same, whatever the other toolkit calls them.

        Args:
            sides: vocabularies of source and target.
            zero_start: whether outputs begin with a vector of zeros in place of a piece's.

        Returns:
            The weights under our names, and the settings that they tell.
        """
        rows = [[0 if row is None else row for row in side.rows] for side in sides]
        lacking = [place for place, row in enumerate(sides[1].rows) if row is None]
        if zero_start or sides[1].rows[BOS] in {sides[1].rows[PAD], sides[1].rows[EOS]}:
            lacking.append(BOS)  # the original has no piece of its own for it
        weights = {
            "source_embedding.weight": self.source,
            "target_embedding.weight": self.target,
            "output.weight": self.output,
        }
        if self.bias is not None:
            weights["output.bias"] = self.bias
        weights = with_rows(weights, rows[0], rows[1], begin=None, silent=sorted(set(lacking)))
        tied = torch.equal(self.target, self.output)
        shared = tied and torch.equal(self.source, self.target) and _same(sides)
        sharing = "shared" if shared else "target" if tied else "separate"
        if tied:
            del weights["output.weight"]
        if shared:
            del weights["target_embedding.weight"]
        settings = {"embeddings": sharing, "output_bias": "output.bias" in weights}
        return weights, settings | ({"begin": "zeros"} if zero_start else {})


def _same(sides: tuple[Numbered, Numbered]) -> bool:
    """Whether both sides have the same pieces in the same rows."""
    source, target = sides
    return vocabularies(sides).same_ids and source.rows == target.rows


def vocabularies(sides: tuple[Numbered, Numbered]) -> Vocabularies:
    """Ours of both sides."""
    return Vocabularies(sides[0].vocabulary, sides[1].vocabulary)
