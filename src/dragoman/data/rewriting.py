"""Text that changes from epoch to epoch by the random transforms of its part.

The store holds ids; they are joined to text, transformed, and split again.  The result is a pure
function of (seed, epoch, row, how often the epoch showed the row before).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

import numpy as np
import numpy.typing as npt

from dragoman.data.store import Store, StoredPart
from dragoman.text.corpus import CorpusPart, Example, Origin
from dragoman.text.tags import tagged
from dragoman.text.transforms import TransformConfig, transformed
from dragoman.text.vocabulary import UNK, Vocabularies

IntArray = npt.NDArray[np.int64]
Sentences = tuple[npt.NDArray[np.integer], IntArray]
"""Ids one sentence after another, and the length of each."""


@dataclass(frozen=True)
class _Part:
    """A part whose rows change."""

    stored: StoredPart
    transforms: Sequence[TransformConfig]
    prefix: int
    """Ids of the tags that its stored sources begin with."""


@dataclass(frozen=True)
class _Row:
    """A sentence pair before and after the transforms."""

    place: int
    """Position among the requested rows."""
    source_ids: list[int]
    """Stored, without tags."""
    target_ids: list[int]
    before: Example
    after: Example


class Rewriter:
    """Applies the transforms that run in each epoch.

    Args:
        store: the rows as they were prepared.
        vocabularies: vocabularies of the store.
        parts: all parts of the corpus in the store.
        seed: seed of the random transforms.
    """

    def __init__(
        self, store: Store, vocabularies: Vocabularies, parts: Sequence[CorpusPart], seed: int
    ) -> None:
        self._store, self._vocabularies, self._seed = store, vocabularies, seed
        self._parts = {
            number: _Part(stored, part.epoch_transforms, self._length(stored.tags))
            for number, (stored, part) in enumerate(zip(store.parts, parts, strict=True))
            if part.epoch_transforms
        }

    def _length(self, tags: Sequence[str]) -> int:
        return len(self._vocabularies.source.encode(tagged(tags, "")))

    def __call__(self, rows: IntArray, shown: IntArray, epoch: int) -> tuple[Sentences, Sentences]:
        """Sources and targets of ``rows`` in ``epoch``.

        A side that holds an unknown piece, whose text is lost, keeps its words; a pair that would
        have no piece on a side, or more than the store's maximum, stays as stored.

        Args:
            rows: ``(rows,)``.
            shown: how often the epoch showed each of them before, ``(rows,)``.
            epoch: number from 0.
        """
        sources = _lists(self._store.gather("source", rows))
        targets = _lists(self._store.gather("target", rows))
        changed = list(self._changed(rows, shown, epoch, sources, targets))
        longest = self._store.manifest.max_pieces
        for row, source, target in zip(changed, *self._encoded(changed), strict=True):
            if min(len(source), len(target)) > 0 and max(len(source), len(target)) <= longest:
                sources[row.place], targets[row.place] = source, target
        return _flat(sources), _flat(targets)

    def _changed(
        self,
        rows: IntArray,
        shown: IntArray,
        epoch: int,
        sources: list[list[int]],
        targets: list[list[int]],
    ) -> Iterator[_Row]:
        """The rows that differ from what is stored."""
        numbers = self._store.part_numbers(rows).tolist()
        for place, (number, row, times) in enumerate(
            zip(numbers, rows.tolist(), shown.tolist(), strict=True)
        ):
            if (part := self._parts.get(number)) is None:
                continue
            stored, ids = part.stored, sources[place][part.prefix :]
            line = row - stored.start
            before = Example(
                self._vocabularies.source.decode(ids),
                self._vocabularies.target.decode(targets[place]),
                stored.source_language,
                stored.target_language,
                stored.tags,
                Origin(stored.name, line),
            )
            rng = Random(_seed(self._seed, epoch, number, line, times))
            after = transformed(before, part.transforms, rng)
            assert after is not None, "transforms that drop examples run before training"
            if after[:2] != before[:2] or after.tags != before.tags:
                yield _Row(place, ids, targets[place], before, after)

    def _encoded(self, rows: list[_Row]) -> tuple[list[list[int]], list[list[int]]]:
        """Ids of the two sides of changed rows."""
        source, target = self._vocabularies
        heads = source.encode_batch([tagged(row.after.tags, "") for row in rows])
        sources = source.encode_batch([row.after.source for row in rows])
        targets = target.encode_batch([row.after.target for row in rows])
        for number, row in enumerate(rows):
            if row.after.source == row.before.source or UNK in row.source_ids:
                sources[number] = row.source_ids
            if row.after.target == row.before.target or UNK in row.target_ids:
                targets[number] = row.target_ids
        bodies = zip(heads, sources, strict=True)
        return [[*head, *body] for head, body in bodies], targets


def _seed(*key: int) -> int:
    """64 bits that depend on every number of ``key``."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _lists(sentences: Sentences) -> list[list[int]]:
    ids, lengths = sentences
    flat, ends = ids.tolist(), np.cumsum(lengths).tolist()
    return [flat[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]


def _flat(sentences: list[list[int]]) -> Sentences:
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    return np.fromiter(chain.from_iterable(sentences), dtype=np.int64), lengths
