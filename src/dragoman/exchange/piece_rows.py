"""Embeddings of other toolkits in the order of our vocabularies."""

from __future__ import annotations

from collections.abc import Sequence
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
class ForeignSides:
    """The vocabularies of source and target."""

    numbered: tuple[Numbered, Numbered]
    sizes: tuple[int, int]
    """Number of pieces there."""
    notes: Sequence[str] = ()
    """How text may be split otherwise than there, a sentence each."""

    @property
    def vocabularies(self) -> Vocabularies:
        """Ours."""
        return Vocabularies(self.numbered[0].vocabulary, self.numbered[1].vocabulary)

    @property
    def are_equal(self) -> bool:
        """Whether both sides have the same pieces in the same rows."""
        source, target = self.numbered
        return self.vocabularies.same_ids and source.rows == target.rows


@dataclass(frozen=True)
class PieceMatrices:
    """The vectors of each piece and its bias in the output, in the rows of the other toolkit."""

    source: Tensor  # (source pieces, d_model)
    target: Tensor  # (target pieces, d_model)
    output: Tensor  # (target pieces, d_model)
    bias: Tensor | None = None  # (target pieces,)

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
        self, sides: ForeignSides, *, zero_start: bool = False
    ) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The matrices in the order of our vocabularies.

        Matrices with equal content are tied here, even if the other toolkit has two names for them.

        Args:
            sides: vocabularies of source and target.
            zero_start: whether outputs begin with a vector of zeros in place of a piece's.

        Returns:
            The weights under our names, and the settings that follow from them.
        """
        rows = [[0 if row is None else row for row in side.rows] for side in sides.numbered]
        target = sides.numbered[1].rows
        lacking = [place for place, row in enumerate(target) if row is None]
        if zero_start or target[BOS] in {target[PAD], target[EOS]}:
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
        shared = tied and torch.equal(self.source, self.target) and sides.are_equal
        sharing = "shared" if shared else "target" if tied else "separate"
        if tied:
            del weights["output.weight"]
        if shared:
            del weights["target_embedding.weight"]
        settings = {"embeddings": sharing, "output_bias": "output.bias" in weights}
        return weights, settings | ({"begin": "zeros"} if zero_start else {})
