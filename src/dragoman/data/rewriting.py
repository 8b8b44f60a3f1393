"""Text that changes from epoch to epoch by the random transforms of its part.

The store holds ids, which are joined to text, transformed, and split again.  The result is a pure
function of seed, epoch, row and the number of times that the epoch showed the row before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import numpy.typing as npt

from dragoman.core.ranges import IntArray, flattened
from dragoman.data.store import Store, StoredPart
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction, Example, Origin
from dragoman.text.tags import tagged
from dragoman.text.transforms import TransformConfig, transformed
from dragoman.text.vocabularies import UNK, Vocabularies, Vocabulary

Sentences = tuple[npt.NDArray[np.integer], IntArray]
"""Ids one sentence after another, and the length of each."""


@dataclass(frozen=True)
class _Part:
    """A part whose rows change."""

    stored: StoredPart
    direction: Direction
    """Direction of the stored rows."""
    transforms: Sequence[TransformConfig]
    uses_target: bool
    """Whether a transform reads or changes the target; if not, its text is not needed."""
    prefix: int
    """Number of tag ids at the start of its stored sources."""

    def changed(self, example: Example, epoch: int, rng: Random) -> Example:
        """The example after the transforms of an epoch."""
        return _changed(example, (one for one in self.transforms if one.runs_in(epoch)), rng)

    def without_draws(self, example: Example) -> Example:
        """The example after the transforms that draw no random numbers."""
        steady = (transform for transform in self.transforms if not transform.is_random)
        return _changed(example, steady, Random(0))


@dataclass(frozen=True)
class _Row:
    """A sentence pair before and after the transforms."""

    place: int
    """Position among the requested rows."""
    part: _Part
    source_ids: list[int]
    """Stored ids, without tags."""
    target_ids: list[int]
    before: Example
    after: Example

    @property
    def is_torn(self) -> bool:
        """Whether both sides change but one cannot, because its text is lost in an unknown piece.

        The changed side alone would not match the other, such as a phrase beside a whole sentence.
        """
        change = self.before.source != self.after.source and self.before.target != self.after.target
        return change and bool(self.source_ids) and UNK in (*self.source_ids, *self.target_ids)


class Rewriter:
    """Applies the transforms that run in each epoch.

    Args:
        longest: maximum number of pieces of a changed side; by default the store's.
    """

    def __init__(
        self,
        store: Store,
        vocabularies: Vocabularies,
        parts: Sequence[CorpusPart],
        seed: int,
        longest: int | None = None,
    ) -> None:
        self._store, self._vocabularies, self._seed = store, vocabularies, seed
        self._longest = store.manifest.max_pieces if longest is None else longest
        self._heads: dict[tuple[str, ...], list[int]] = {}
        self._parts = {
            number: _Part(
                stored,
                part.prepared_direction,
                part.epoch_transforms,
                any(transform.uses_target for transform in part.epoch_transforms),
                len(self._head(stored.tags)),
            )
            for number, (stored, part) in enumerate(zip(store.parts, parts, strict=True))
            if part.epoch_transforms
        }

    def _head(self, tags: tuple[str, ...]) -> list[int]:
        if tags not in self._heads:
            self._heads[tags] = self._vocabularies.source.encode(tagged(tags, ""))
        return self._heads[tags]

    def __call__(self, rows: IntArray, shown: IntArray, epoch: int) -> tuple[Sentences, Sentences]:
        """Sources and targets of ``rows`` in ``epoch``.

        A side with an unknown piece, whose text is lost, keeps its words, and so does the other
        side if both would change.  A pair that would have too many pieces on a side, or none, or
        its first unknown piece, is changed only by the transforms that draw nothing.  If that does
        not fit either, its words stay as stored, behind the tags of these transforms, and the end
        of the source is cut off.

        Args:
            rows: ``(rows,)``.
            shown: number of times that the epoch showed each row before, ``(rows,)``.
            epoch: number from 0.
        """
        sources = _lists(self._store.gather("source", rows))
        targets = _lists(self._store.gather("target", rows))
        unfit: list[_Row] = []
        for row, source, target in self._encoded(
            list(self._changed_rows(rows, shown, epoch, sources, targets))
        ):
            if self._fits(row, source, target):
                sources[row.place], targets[row.place] = source, target
            else:
                unfit.append(replace(row, after=row.part.without_draws(row.before)))
        for row, source, target in self._encoded(unfit):
            if self._fits(row, source, target):
                sources[row.place], targets[row.place] = source, target
            else:
                sources[row.place] = self._cut(row, source)
        return flattened(sources), flattened(targets)

    def _fits(self, row: _Row, source: list[int], target: list[int]) -> bool:
        """Whether a changed pair may be trained on."""
        is_full = bool(target and (source or not row.after.source))
        # The vocabulary was trained on the stored text, so changed text may have other characters.
        changes = (row.source_ids, source), (row.target_ids, target)
        is_known = all(UNK in stored or UNK not in ids for stored, ids in changes)
        return is_full and is_known and max(len(source), len(target)) <= self._longest

    def _cut(self, row: _Row, source: list[int]) -> list[int]:
        """The stored words behind new tags, without the excess at the end."""
        head = self._head(row.after.tags)
        body = row.source_ids or source[len(head) :]
        return [*head, *body][: self._longest]

    def _changed_rows(
        self,
        rows: IntArray,
        shown: IntArray,
        epoch: int,
        sources: list[list[int]],
        targets: list[list[int]],
    ) -> Iterator[_Row]:
        """The rows that differ from the store."""
        numbers = self._store.part_numbers(rows).tolist()
        for place, (number, row, times) in enumerate(
            zip(numbers, rows.tolist(), shown.tolist(), strict=True)
        ):
            if (part := self._parts.get(number)) is None:
                continue
            ids, line = sources[place][part.prefix :], row - part.stored.start
            before = Example(
                self._vocabularies.source.decode(ids),
                self._vocabularies.target.decode(targets[place]) if part.uses_target else "",
                part.direction.source_language,
                part.direction.target_language,
                part.stored.tags,
                Origin(part.stored.name, line),
            )
            rng = Random(_seed(self._seed, epoch, number, line, times))
            after = part.changed(before, epoch, rng)
            if after[:2] != before[:2] or after.tags != before.tags:
                yield _Row(place, part, ids, targets[place], before, after)

    def _encoded(self, rows: Sequence[_Row]) -> Iterator[tuple[_Row, list[int], list[int]]]:
        changes = [(row, row.before if row.is_torn else row.after) for row in rows]
        sources = _split_again(
            self._vocabularies.source,
            [(row.source_ids, row.before.source, after.source) for row, after in changes],
        )
        targets = _split_again(
            self._vocabularies.target,
            [(row.target_ids, row.before.target, after.target) for row, after in changes],
        )
        for row, source, target in zip(rows, sources, targets, strict=True):
            yield row, [*self._head(row.after.tags), *source], target


def _changed(example: Example, transforms: Iterable[TransformConfig], rng: Random) -> Example:
    after = transformed(example, transforms, rng)
    assert after is not None, "transforms that drop examples run before training"
    return after


def _split_again(
    vocabulary: Vocabulary, sentences: Sequence[tuple[list[int], str, str]]
) -> list[list[int]]:
    """Ids of sentences, given as their stored ids and their text before and after.

    Stored ids are kept if the text is the same, or was lost in an unknown piece.
    """
    ids = [stored for stored, _, _ in sentences]
    places = [
        place
        for place, (stored, before, after) in enumerate(sentences)
        if after != before and UNK not in stored
    ]
    texts = [sentences[place][2] for place in places]
    for place, new in zip(places, vocabulary.encode_batch(texts), strict=True):
        ids[place] = new
    return ids


def _seed(*key: int) -> int:
    """64 bits that depend on every number of ``key``."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _lists(sentences: Sentences) -> list[list[int]]:
    ids, lengths = sentences
    flat, ends = ids.tolist(), np.cumsum(lengths).tolist()
    return [flat[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]
