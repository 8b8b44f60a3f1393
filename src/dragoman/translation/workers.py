"""Several processes that share the batches of a translator.

Small models leave cores waiting for one another; processes of one thread each do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch

from dragoman.core.device import DecidedPrecision
from dragoman.core.processes import WorkerPool
from dragoman.saved.model import load_for_search
from dragoman.search import Hypothesis, SearchConfig
from dragoman.translation.engine import SourceBatch, TorchEngine

_AHEAD = 2  # batches waiting for each worker, so that none waits for this process
_engine: TorchEngine | None = None  # in a worker: what it searches with


class WorkerEngine:
    """Searches in several processes, each with the models and one thread.

    Args:
        paths: of the models, which each worker opens for itself.
        workers: processes.
        device: where each worker puts the models.
        precision: of the models.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        workers: int,
        device: torch.device | str | None,
        precision: DecidedPrecision,
    ) -> None:
        self._ahead = workers * _AHEAD
        self._pool = WorkerPool(
            workers,
            _begin,
            (tuple(paths), device, precision),
            work="translates",
            remedy="repeat with fewer workers",
        )
        self._pool.start()

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[list[list[Hypothesis]]]:
        """See :meth:`dragoman.translation.engine.Engine.search`.

        Raises:
            WorkerError: besides, a worker was ended from outside.
        """
        tasks = ((batch, config) for batch in batches)
        yield from self._pool.in_order(_search, tasks, ahead=self._ahead)

    def close(self) -> None:
        """End the processes, after the batches at hand."""
        self._pool.close()


def _begin(
    paths: Sequence[Path | str], device: torch.device | str | None, precision: DecidedPrecision
) -> None:
    """Make this process a worker."""
    global _engine  # noqa: PLW0603 - what a pool's initializer leaves for its tasks
    torch.set_num_threads(1)
    saved = [load_for_search(path, device, precision) for path in paths]
    tags = saved[0].vocabularies.target.tags
    _engine = TorchEngine([part.model for part in saved], tags)


def _search(task: tuple[SourceBatch, SearchConfig]) -> list[list[Hypothesis]]:
    assert _engine is not None, "a worker has begun"
    batch, config = task
    return next(_engine.search([batch], config))
