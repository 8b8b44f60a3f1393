"""Rows of a store as batches of tensors, within a token budget, in an order fixed by the epoch.

The sentences of a training step depend only on text, settings, seed and step.  The number of
processes and the memory of a device only affect how they are divided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import torch

from dragoman.core.errors import ConfigError
from dragoman.core.ranges import IntArray
from dragoman.data.batch import Batch, assemble, make_batch, pad_sources, real_ids
from dragoman.data.grouping import DeviceTokens, divide, group_by_length
from dragoman.data.proportions import mixed_weights, rows_in_epoch
from dragoman.data.resampling import (
    POOL_BATCHES,
    Pool,
    SampledBatch,
    Sampler,
    SamplerApart,
)
from dragoman.data.rewriting import Rewriter, Sentences
from dragoman.data.store import Store, StoredPart, take
from dragoman.models.interface import TranslationModel
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies

__all__ = ["Batch", "Batches", "make_batch", "pad_sources", "real_ids"]


# Rows are grouped by length within windows of this many, drawn from blocks that follow each other
# on disk.  Memory therefore does not grow with the store, and a store no larger than a window is
# mixed as a whole.
_WINDOW_ROWS = 1 << 19
_BLOCK_ROWS = 1 << 16

# Purposes of random numbers; each has its own stream.
_BLOCKS, _ORDER, _PIECES = range(3)


class Batches:
    """The batches of any epoch, as seen by one of several ranks.

    The sentences of a step are a pure function of (store, step_tokens, seed, epoch, vocabularies,
    sampling, parts, sampling_temperature, longest).  Every epoch groups and orders the pairs again,
    and shows each row according to the weight of its part.  Ranks and ``device_tokens`` divide
    each step, see :func:`~dragoman.data.grouping.divide`.

    Args:
        step_tokens: maximum padded tokens per step and side, over all ranks, including end symbols:
            the number of sentences times the length of the longest.  A single pair that exceeds it
            forms a step by itself.
        device_tokens: maximum padded tokens per batch and side, which may be lowered later.
        vocabularies: vocabularies of the store; needed for ``sampling`` and ``parts``.
        sampling: BPE-dropout probability or unigram alpha; with 0, every epoch sees the stored ids.
        parts: parts of the corpus, whose transforms may change the text in each epoch; if empty, it
            never changes.
        sampling_temperature: see :func:`~dragoman.data.proportions.mixed_weights`.
        chosen: numbers of the store's parts that are shown; None shows all.
        apart: whether random changes are drawn in a separate process, beside a GPU.
        longest: maximum pieces of a side whose pieces are resampled; by default that of the store.

    Raises:
        ConfigError: the weights of the parts are so small that an epoch would be empty.
    """

    def __init__(
        self,
        store: Store,
        step_tokens: int,
        device_tokens: DeviceTokens | int | None = None,
        *,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
        vocabularies: Vocabularies | None = None,
        sampling: float = 0.0,
        parts: Sequence[CorpusPart] = (),
        sampling_temperature: float | None = None,
        chosen: Collection[int] | None = None,
        apart: bool = False,
        longest: int | None = None,
    ) -> None:
        rewrites = any(
            part.epoch_transforms
            for number, part in enumerate(parts)
            if chosen is None or number in chosen
        )
        assert vocabularies or not (sampling or rewrites), "new pieces need the vocabularies"
        assert 0 <= rank < world_size, "ranks count from 0 to world_size - 1"
        self._weights = mixed_weights(store.parts, sampling_temperature, chosen)
        shown = sum(
            (part.stop - part.start) * weight
            for part, weight in zip(store.parts, self._weights, strict=True)
        )
        if len(store) and shown < 1:
            raise ConfigError(
                f"data.train: by these weights an epoch shows {shown:.2g} of {len(store):,} pairs; "
                "raise them until it shows at least one"
            )
        self._store = store
        self._seed = seed
        self._rank = rank
        self._world_size = world_size
        if not isinstance(device_tokens, DeviceTokens):
            device_tokens = DeviceTokens(device_tokens)
        self._device_tokens = device_tokens
        self._sampler: Sampler | SamplerApart | None = None
        self._planned_tokens = step_tokens
        self._pools: dict[tuple[int, int], list[Pool]] = {}
        if vocabularies is not None and (sampling or rewrites) and len(store):
            sampler = Sampler(
                store,
                vocabularies,
                sampling=sampling,
                batch_tokens=step_tokens,
                seed=seed % 2**30,
                rewriter=Rewriter(store, vocabularies, parts, seed, longest) if rewrites else None,
                longest=longest,
            )
            self._sampler = SamplerApart(sampler) if apart else sampler
            self._planned_tokens = sampler.planned_tokens

    @property
    def parts(self) -> Sequence[StoredPart]:
        """The parts that :attr:`Batch.parts` numbers, with their languages and tags."""
        return self._store.parts

    def epoch(self, epoch: int) -> Iterator[list[Batch]]:
        """All steps of ``epoch`` (from 0), the same number on every rank."""
        for window in range(self.windows(epoch)):
            yield from self.window(epoch, window)

    def windows(self, epoch: int) -> int:
        """Number of windows in the epoch, which are grouped and ordered one after another."""
        return len(self._windows(epoch))

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        """This rank's batches of each step of one window, from step ``start`` on.

        Steps before ``start`` are not assembled, so an epoch resumes in its middle without reading
        the rest.  A step with fewer sentences than ranks has no batch for some ranks.
        """
        if self._sampler is None:
            yield from map(self._read, self._plan(epoch, window)[start:])
        else:
            yield from self._sample(self._sampler, epoch, window, start)

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        """The batch unchanged: nothing in it depends on the model in training."""
        return batch

    def _divide(self, source_lengths: IntArray, target_lengths: IntArray) -> list[IntArray]:
        """Divide a step's sentences into this rank's batches; lengths exclude end symbols."""
        return divide(
            source_lengths + 1,
            target_lengths + 1,
            rank=self._rank,
            world_size=self._world_size,
            device_tokens=self._device_tokens.limit,
        )

    def _read(self, rows: IntArray) -> list[Batch]:
        """This rank's batches of the step that consists of ``rows``."""
        store = self._store
        parts = self._divide(store.lengths("source", rows), store.lengths("target", rows))
        return [
            self._assemble(part, store.gather("source", part), store.gather("target", part))
            for part in (rows[part] for part in parts)
        ]

    def _sample(
        self, sampler: Sampler | SamplerApart, epoch: int, window: int, skipped: int
    ) -> Iterator[list[Batch]]:
        """The steps of a window with resampled pieces, pool by pool.

        Every rank samples for all ranks, so that the pieces do not depend on their number.
        """
        for number, pool in enumerate(self._pools_of(epoch, window)):
            if skipped < len(pool.planned):
                steps = sampler.sample(pool, partial(self._pool_after, epoch, window, number))
                yield from map(self._sampled, steps[skipped:])
            skipped = max(0, skipped - len(pool.planned))

    def _pools_of(self, epoch: int, window: int) -> list[Pool]:
        """The pools of a window; none if the weights leave none of its rows in this epoch."""
        if (epoch, window) not in self._pools:
            plan = self._plan(epoch, window)
            shown = _shown_before(plan) if plan else []
            pools = -(-len(plan) // POOL_BATCHES)
            # Of equal size, because a small last pool would be hard to group.
            bounds = [len(plan) * number // pools for number in range(pools + 1)] if pools else [0]
            seeds = [self._random(_PIECES, epoch, window, at).integers(2**30) for at in bounds[:-1]]
            found = [
                Pool(plan[first:end], shown[first:end], epoch, int(seed))
                for (first, end), seed in zip(pairwise(bounds), seeds, strict=True)
            ]
            # The present window and the one ahead of it.
            self._pools = {**dict(list(self._pools.items())[-1:]), (epoch, window): found}
        return self._pools[epoch, window]

    def _pool_after(self, epoch: int, window: int, number: int) -> Pool:
        """The pool after the given one, in this window or a later one."""
        pools = self._pools_of(epoch, window)
        while number + 1 >= len(pools):
            window, number = window + 1, -1
            if window == self.windows(epoch):
                epoch, window = epoch + 1, 0
            pools = self._pools_of(epoch, window)
        return pools[number + 1]

    def _sampled(self, step: SampledBatch) -> list[Batch]:
        sides = step.source, step.target
        starts = [np.concatenate([[0], np.cumsum(lengths)]) for _, lengths in sides]
        return [
            self._assemble(
                step.rows[part],
                *(take(ids, start, part) for (ids, _), start in zip(sides, starts, strict=True)),
            )
            for part in self._divide(step.source[1], step.target[1])
        ]

    def _assemble(self, rows: IntArray, source: Sentences, target: Sentences) -> Batch:
        parts = torch.from_numpy(self._store.part_numbers(rows))
        return replace(assemble(rows, source, target), parts=parts)

    def _random(self, purpose: int, *place: int) -> np.random.Generator:
        entropy = np.random.SeedSequence(self._seed, spawn_key=(purpose, *place))
        return np.random.Generator(np.random.PCG64(entropy))

    def _windows(self, epoch: int) -> list[list[tuple[int, int, float]]]:
        """For each window, its blocks ``(start, stop, weight)`` of rows, in random order."""
        blocks = []
        for part, weight in zip(self._store.parts, self._weights, strict=True):
            if not weight:
                continue  # a part of another task
            # A block holds the number of pairs shown by the epoch, not the number stored.
            length = max(1, int(_BLOCK_ROWS / max(1.0, weight)))
            for start in range(part.start, part.stop, length):
                blocks.append((start, min(start + length, part.stop), weight))
        windows: list[list[tuple[int, int, float]]] = []
        room = 0.0
        for block in self._random(_BLOCKS, epoch).permutation(len(blocks)):
            start, stop, weight = blocks[block]
            pairs = (stop - start) * weight
            if not windows or pairs > room:
                windows.append([])
                room = _WINDOW_ROWS
            windows[-1].append(blocks[block])
            room -= pairs
        return windows

    def _plan(self, epoch: int, window: int) -> list[IntArray]:
        """The rows of each step in one window, in order."""
        random = self._random(_ORDER, epoch, window)
        blocks = self._windows(epoch)[window]
        rows = np.concatenate(
            [
                rows_in_epoch(start, stop, weight, seed=self._seed, epoch=epoch)
                for start, stop, weight in blocks
            ]
        )
        random.shuffle(rows)  # so that pairs of equal length are grouped differently each epoch
        groups = group_by_length(
            self._store.lengths("source", rows) + 1,
            self._store.lengths("target", rows) + 1,
            self._planned_tokens,
        )
        return [rows[groups[step]] for step in random.permutation(len(groups))]


def _shown_before(plan: list[IntArray]) -> list[IntArray]:
    """Count earlier occurrences of each row of each step; a row occurs in one window only."""
    rows = np.concatenate(plan)
    order = np.argsort(rows, kind="stable")
    arranged = rows[order]
    is_first = np.concatenate([[True], arranged[1:] != arranged[:-1]])
    places = np.arange(len(rows))
    times = np.empty(len(rows), dtype=np.int64)
    times[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return np.split(times, np.cumsum([len(step) for step in plan])[:-1])
