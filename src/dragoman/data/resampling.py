"""The text and pieces of a row in an epoch, after random transforms and subword sampling.

Subword sampling splits a sentence differently each time it is seen: Kudo 2018 (arXiv:1804.10959)
for unigram vocabularies, Provilkov et al. 2020 (arXiv:1910.13267) for byte-pair encoding.  The
store holds the best segmentations, whose words are split again.  This makes sentences longer, by a
third on average with BPE-dropout 0.1 and some by far more, so the planned batches of a pool are
regrouped by their new lengths.  Random transforms come first, see :mod:`dragoman.data.rewriting`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dragoman.core.processes import WorkerPool
from dragoman.core.ranges import IntArray, gathered, starts_of
from dragoman.data.grouping import group_by_length, halve_until
from dragoman.data.rewriting import Rewriter, Sentences
from dragoman.data.store import Side, Store, take
from dragoman.text.vocabularies import UNK, Vocabularies, Vocabulary

# Number of batches that are regrouped together: enough sentences that little is padded, few enough
# that training need not wait for them.
POOL_BATCHES = 64
# Batches are planned with room for this much more than the growth measured in a sample.
_ROOM = 1.2
_SAMPLE_ROWS = 2000
# Factor by which the budget is raised each time rewritten sentences exceed the plan.
_OVERFLOW = 1.05
_SIDES: tuple[Side, Side] = ("source", "target")


class Pool(NamedTuple):
    """Planned batches that get new pieces together."""

    planned: list[IntArray]
    """The rows of each batch."""
    shown: list[IntArray]
    """Number of earlier times that the epoch showed each of these rows."""
    epoch: int
    """Number from 0, which random transforms depend on."""
    seed: int
    """The same seed and rows give the same pieces."""


class Sampler:
    """Gives planned batches new text or pieces, within the token budget.

    Args:
        sampling: BPE-dropout probability or unigram alpha; 0 keeps the best segmentation.
        batch_tokens: the budget of a batch.
        seed: seed of the sample that estimates how much longer sentences become.
        rewriter: changes the text first, if a part of the corpus has random transforms.
        longest: maximum number of pieces of a side that is split again; by default the store's.
    """

    def __init__(
        self,
        store: Store,
        vocabularies: Vocabularies,
        *,
        sampling: float,
        batch_tokens: int,
        seed: int,
        rewriter: Rewriter | None = None,
        longest: int | None = None,
    ) -> None:
        self._store = store
        self._longest = store.manifest.max_pieces if longest is None else longest
        self._rewriter = rewriter
        self._vocabularies = vocabularies
        self._sampling = sampling
        self._batch_tokens = batch_tokens
        self.planned_tokens = max(1, int(batch_tokens / (_ROOM * self._growth(seed))))
        """The budget to plan batches with, so that they fit when their sentences have grown."""

    def sample(self, pool: Pool, following: Callable[[], Pool] | None = None) -> list[SampledBatch]:
        """The same number of batches of the same sentences, in the same order of width.

        If the sentences grow so much that more batches would be needed, they keep the stored
        pieces; if transforms changed them, batches exceed their budget instead.
        """
        planned = pool.planned
        rows = np.concatenate(planned)
        source, target = self._sides(rows, np.concatenate(pool.shown), pool.epoch, pool.seed)
        lengths = source[1] + 1, target[1] + 1
        budget = float(self._batch_tokens)
        groups = group_by_length(*lengths, self._batch_tokens)
        if len(groups) > len(planned) and self._rewriter is None:
            return [self._stored(batch) for batch in planned]
        while len(groups) > len(planned):
            budget *= _OVERFLOW
            groups = group_by_length(*lengths, int(budget))
        groups = halve_until(groups, len(planned))
        # Groups come sorted by width.  Laid over the plan, they get its random order.
        widths = [
            max(int(self._store.lengths(side, batch).max()) for side in _SIDES) for batch in planned
        ]
        places = np.argsort(np.argsort(widths, kind="stable"))
        offsets = [np.concatenate([[0], np.cumsum(lengths)]) for _, lengths in (source, target)]
        return [
            SampledBatch(
                rows[group], take(source[0], offsets[0], group), take(target[0], offsets[1], group)
            )
            for group in (groups[place] for place in places)
        ]

    def _stored(self, rows: IntArray) -> SampledBatch:
        return SampledBatch(
            rows, self._store.gather("source", rows), self._store.gather("target", rows)
        )

    def _sides(
        self, rows: IntArray, shown: IntArray, epoch: int, seed: int
    ) -> tuple[Sentences, Sentences]:
        """Sources and targets of ``rows``, transformed and split by ``epoch`` and ``seed``."""
        if self._rewriter is not None:
            source, target = self._rewriter(rows, shown, epoch)
        else:
            source, target = (self._store.gather(side, rows) for side in _SIDES)
        return self._resample("source", source, seed), self._resample("target", target, seed)

    def _resample(self, side: Side, sentences: Sentences, seed: int) -> Sentences:
        if not self._sampling:
            return sentences
        return resample(
            *sentences,
            self._vocabularies.source if side == "source" else self._vocabularies.target,
            sampling=self._sampling,
            max_pieces=self._longest,
            seed=2 * seed + (side == "target"),
        )

    def _growth(self, seed: int) -> float:
        """The factor by which tokens or batches grow in a sample of the pairs."""
        pairs = len(self._store)
        rows = np.unique(np.linspace(0, pairs - 1, min(pairs, _SAMPLE_ROWS)).astype(np.int64))
        tokens, batches = [], []
        for source, target in (
            [self._store.lengths(side, rows) + 1 for side in _SIDES],
            [one[1] + 1 for one in self._sides(rows, np.zeros_like(rows), 0, seed)],
        ):
            tokens.append(int(np.maximum(source, target).sum()))
            # Sentences of equal length no longer have equal lengths, and are padded more.
            batches.append(len(group_by_length(source, target, self._batch_tokens)))
        return max(1.0, tokens[1] / tokens[0], batches[1] / batches[0])


@dataclass(frozen=True)
class SampledBatch:
    """The sentences of a batch, before they are padded."""

    rows: IntArray
    source: Sentences
    target: Sentences


def resample(
    ids: npt.NDArray[np.integer],
    lengths: IntArray,
    vocabulary: Vocabulary,
    *,
    sampling: float,
    max_pieces: int,
    seed: int,
) -> Sentences:
    """Split sentences again, at random.

    A sentence stays unchanged if it holds an unknown piece, whose text is lost, or would exceed
    ``max_pieces``.

    Args:
        ids: the sentences one after another.
        lengths: the length of each.
        sampling: BPE-dropout probability or unigram alpha.

    Returns:
        New ids one after another, and the new length of each sentence.
    """
    new, new_lengths = vocabulary.split_anew(
        ids.astype(np.int64), lengths, sampling=sampling, seed=seed
    )
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    unknown = np.bincount(sentences[ids == UNK], minlength=len(lengths))
    kept = (unknown > 0) | (new_lengths == 0) | (new_lengths > max_pieces)
    starts = np.where(kept, starts_of(lengths), len(ids) + starts_of(new_lengths))
    chosen = np.where(kept, lengths, new_lengths)
    return gathered(np.concatenate([ids.astype(np.int64), new]), starts, chosen), chosen


class SamplerApart:
    """A :class:`Sampler` in a separate process, one pool ahead of training.

    Beside a GPU, the training thread mainly launches work in hundreds of short calls per step.  At
    each of them, a thread of the same interpreter that draws pieces may take Python's lock and keep
    it for 5 ms.
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
        """The batches of :meth:`Sampler.sample`; the next pool, ``following()``, is begun.

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


_sampler: Sampler | None = None  # of the worker process


def _begin(sampler: Sampler) -> None:
    global _sampler  # noqa: PLW0603 - what a worker keeps for its tasks
    _sampler = sampler


def _sample(pool: Pool) -> list[SampledBatch]:
    assert _sampler is not None, "a worker begins with a sampler"
    return _sampler.sample(pool)
