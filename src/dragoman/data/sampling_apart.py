"""Subword sampling and random transforms in a separate process, ahead of training.

Beside a GPU, the training thread mainly launches work in hundreds of short calls per step.  At each
of them, a thread of the same interpreter that draws pieces may take Python's lock and keep it for
5 ms.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

from dragoman.core.processes import WorkerPool
from dragoman.data.resampling import Pool, SampledBatch, Sampler

_sampler: Sampler | None = None
"""The sampler of the worker process."""


class SamplerApart:
    """A :class:`~dragoman.data.resampling.Resampling` that is one pool ahead.

    Args:
        sampler: sampler that runs in the other process.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._pool = WorkerPool(
            1,
            _begin,
            (sampler,),
            work="draws pieces of words",
            remedy="continue from the last checkpoint with 'dragoman resume'",
        )
        self._ahead: tuple[Pool, Future[list[SampledBatch]]] | None = None
        weakref.finalize(self, self._pool.close)

    def sample(self, pool: Pool, following: Callable[[], Pool]) -> list[SampledBatch]:
        """See :class:`~dragoman.data.resampling.Resampling`.

        Raises:
            WorkerError: the process was killed.
        """
        try:
            wanted = self._taken(pool)
            after = following()
            self._ahead = after, self._pool.submit(_sample, after)
            return self._pool.result(wanted)
        except BrokenProcessPool as error:
            raise self._pool.killed("was killed") from error

    def _taken(self, pool: Pool) -> Future[list[SampledBatch]]:
        """The batches of a pool, whether begun already or not."""
        if self._ahead is not None and self._ahead[0] is pool:
            return self._ahead[1]
        return self._pool.submit(_sample, pool)


def _begin(sampler: Sampler) -> None:
    global _sampler  # noqa: PLW0603 - what a worker keeps for its tasks
    _sampler = sampler


def _sample(pool: Pool) -> list[SampledBatch]:
    assert _sampler is not None, "a worker begins with a sampler"
    return _sampler.sample(pool)
