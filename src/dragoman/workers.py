"""Several processes that share the batches of a translator.

Small models leave cores waiting for one another; processes of one thread each do not.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import torch

from dragoman.device import DecidedPrecision
from dragoman.engine import SourceBatch, TorchEngine
from dragoman.errors import ConfigError
from dragoman.saved import load_for_search
from dragoman.search import Hypothesis, SearchConfig

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
        # Processes that are forked from one with threads may hang; new ones do not.
        self._pool = ProcessPoolExecutor(
            workers,
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(tuple(paths), device, precision),
        )
        with suppress(BrokenProcessPool):  # which the first search will find too
            for _ in range(workers):  # a pool starts a process for a task that finds none idle
                self._pool.submit(_begun)

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[list[list[Hypothesis]]]:
        """See :meth:`dragoman.engine.Engine.search`.

        Raises:
            ConfigError: besides, a worker was ended from outside.
        """
        pending: deque[Future[list[list[Hypothesis]]]] = deque()
        try:
            for batch in batches:
                pending.append(self._pool.submit(_search, batch, config))
                if len(pending) > self._ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            raise ConfigError(
                "a process that translates was ended from outside, perhaps for want of memory; "
                "repeat with fewer workers"
            ) from error


def _begin(
    paths: Sequence[Path | str], device: torch.device | str | None, precision: DecidedPrecision
) -> None:
    """Make this process a worker."""
    global _engine  # noqa: PLW0603 - what a pool's initializer leaves for its tasks
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the first process' to answer
    torch.set_num_threads(1)
    saved = [load_for_search(path, device, precision) for path in paths]
    tags = saved[0].vocabularies.target.tags
    _engine = TorchEngine([part.model for part in saved], tags)


def _begun() -> None:
    """Nothing: what a worker is asked to do so that it starts."""


def _search(batch: SourceBatch, config: SearchConfig) -> list[list[Hypothesis]]:
    assert _engine is not None, "a worker has begun"
    return next(_engine.search([batch], config))
