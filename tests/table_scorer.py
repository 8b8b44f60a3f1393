"""A scorer whose probabilities are looked up: any distribution, and ones that are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dragoman.search import Scorer
from dragoman.text.vocabularies import BOS, EOS

VOCABULARY = 8


class TableScorer(Scorer):
    """What may come next depends on the source's first piece and on all that came before.

    Args:
        table: log-probabilities ``(entries, vocabulary)``; a context has one entry, by its hash.
    """

    position_limit = None

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self.rows_read: list[int] = []  # of each step

    def encode(self, source: Tensor, source_mask: Tensor) -> Tensor:
        return source[:, :1]

    def start(self, memory: Tensor, beam: int = 1) -> Tensor:
        return memory.repeat_interleave(beam, 0)

    def step(self, target: Tensor, memory: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        self._count(target, memory)
        state = (state * 31 + target) % 1009
        return self.table[state % len(self.table)], state

    def _count(self, target: Tensor, memory: Tensor) -> None:
        assert len(target) % len(memory) == 0
        assert target.size(1) == 1
        self.rows_read.append(len(target))
        assert len(self.rows_read) < 99, "search does not end"

    def after(self, first: int, ids: Sequence[int]) -> Tensor:
        """Log-probabilities after ``ids``, for a source that begins with ``first``."""
        state = first
        for piece in [BOS, *ids]:
            state = (state * 31 + piece) % 1009
        return self.table[state % len(self.table)]

    def attention(self, target: Tensor, memory: Tensor) -> Tensor:
        raise AssertionError("no coverage here")


class PositionScorer(TableScorer):
    """What may come next depends on how many pieces came before: an entry each, the last for more.

    Args:
        chances: of each position, probabilities by piece.
    """

    def __init__(self, *chances: dict[int, float]) -> None:
        table = torch.zeros((len(chances), VOCABULARY), dtype=torch.float64)
        for entry, of_pieces in zip(table, chances, strict=True):
            entry[list(of_pieces)] = torch.tensor(list(of_pieces.values())).double()
        super().__init__(table.log())

    def start(self, memory: Tensor, beam: int = 1) -> Tensor:
        return memory.new_full((len(memory) * beam, 1), -1)

    def step(self, target: Tensor, memory: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        self._count(target, memory)
        state = (state + 1).clamp(max=len(self.table) - 1)
        return self.table[state], state


def random_table(seed: int, sharpness: float, entries: int = 97) -> Tensor:
    """Distributions, the sharper the nearer to certainty; the end is as likely as others."""
    logits = np.random.default_rng(seed).normal(size=(entries, VOCABULARY)) * sharpness
    return torch.from_numpy(logits).log_softmax(1)


def spoiled(table: Tensor, seed: int, share: float) -> Tensor:
    """A share of entries impossible, as many NaN or +inf, and as many contexts NaN throughout."""
    generator = np.random.default_rng(seed)
    table = table.clone()
    chance = torch.from_numpy(generator.random(table.shape))
    table[chance < share] = -torch.inf
    table[chance > 1 - share / 4] = torch.nan
    table[chance > 1 - share / 8] = torch.inf
    rows = torch.from_numpy(generator.random(len(table)))
    table[rows < share / 4] = torch.nan
    table[rows > 1 - share / 4] = -torch.inf
    table[torch.from_numpy(generator.random(len(table))) < share, EOS] = -torch.inf
    return table
