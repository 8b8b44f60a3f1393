"""Frequencies of the pieces of a vocabulary in each language."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

Frequencies = npt.NDArray[np.float32]


class PieceFrequencies:
    """The share of each piece in text of each language.

    A model that has seen a language only beside another one falls into that other language, or
    copies words of it.  Forbidding pieces that belong to another language prevents this. Artetxe et
    al. 2018 (arXiv:1710.11041) and Lample et al. 2018 (arXiv:1711.00043) have a vocabulary for each
    language instead.

    Args:
        shares: by language, ``(pieces,)``.
    """

    def __init__(self, shares: Mapping[str, Frequencies]) -> None:
        self.shares = dict(shares)

    def foreign(
        self, language: str, share: float, others: Collection[str] | None = None
    ) -> tuple[int, ...]:
        """The pieces that belong to another language, in ascending order.

        Args:
            share: a piece is foreign if it is less than ``share`` times as frequent in this
                language as in another one.
        """
        here = self.shares[language]
        compared = self.shares.keys() - {language} if others is None else others
        foreign = np.zeros(len(here), np.bool_)
        for other in compared:
            foreign |= here < share * self.shares[other]
        return tuple(np.flatnonzero(foreign).tolist())
