"""Batches that do not fit into memory are searched in halves, and each sentence still in its turn.

Translations do not depend on the batch, so what memory allows changes nothing but the speed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from dragoman.core.errors import NotEnoughMemoryError
from dragoman.core.memory import is_out_of_memory, memory_words
from dragoman.search import Hypothesis

if TYPE_CHECKING:
    from dragoman.translation.engines.engine import SourceBatch

log = logging.getLogger(__name__)

Search = Callable[["SourceBatch"], list[list[Hypothesis]]]


class FittingSearch:
    """Searches in batches that fit into memory, and remembers which did not."""

    def __init__(self) -> None:
        self._limit: int | None = None

    def __call__(self, batch: SourceBatch, search: Search) -> list[list[Hypothesis]]:
        """What ``search`` finds for each sentence of a batch.

        Raises:
            NotEnoughMemoryError: a sentence does not fit even alone.
        """
        size = _tokens(batch)
        if len(batch.sources) == 1 or self._limit is None or size <= self._limit:
            try:
                return search(batch)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                said = memory_words(error)
            # Here, as the error's traceback held the tensors of the failed search.
            self._lower(batch, size, said)
        middle = len(batch.sources) // 2
        halves = batch.part(slice(middle)), batch.part(slice(middle, None))
        return [found for half in halves for found in self(half, search)]

    def _lower(self, batch: SourceBatch, size: int, said: str) -> None:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # what is free may be too fragmented to use
        if len(batch.sources) == 1:
            raise NotEnoughMemoryError(
                f"line {batch.numbers[0] + 1}: out of memory ({said}), though its "
                f"{len(batch.sources[0])} pieces are translated alone; use a narrower beam, or "
                "divide the line"
            )
        if self._limit is None:
            log.warning("out of memory (%s); going on with smaller batches", said)
        self._limit = size // 2


def _tokens(batch: SourceBatch) -> int:
    """Padded tokens."""
    return len(batch.sources) * (1 + max(map(len, batch.sources)))
