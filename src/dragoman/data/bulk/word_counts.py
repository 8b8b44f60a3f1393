"""Counts of each word, or each piece of a vocabulary, in a cleaned corpus.

Each shard is counted separately.  Its counts are divided into partitions by the word, so that all
counts of a word meet in one partition, and no process holds all words.
"""

from __future__ import annotations

import heapq
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dragoman.core.shard_files import ShardFiles
from dragoman.data.bulk.bulk_text import BulkText
from dragoman.data.bulk.shard_rows import (
    ARRAYS_SUFFIX,
    pack_arrays,
    pack_rows,
    read_array,
    unpack_rows,
)
from dragoman.data.bulk.text_plan import TextPlan
from dragoman.text.examples import Example
from dragoman.text.lines import write_text
from dragoman.text.vocabularies import Vocabularies, Vocabulary

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
COUNT_FILES = {side: f"{side}.tsv" for side in SIDES}
"""Files written by :func:`count_words`.  Each line has a word, a tab and its count, as
sentencepiece reads them with ``input_format=tsv``, the most frequent first, then by code points.
"""

_BATCH_LINES = 4096
_WORDS_AT_ONCE = 1 << 16
"""Number of words of a partition written and read at a time."""


def count_words(text: BulkText, vocabulary: Path | None) -> dict[str, int]:
    """Count the words of a cleaned corpus, or its pieces.

    Args:
        vocabulary: a model, run or directory of vocabularies, whose pieces are counted; without
            it, words separated by white space are counted.

    Returns:
        The number of different words on each side.
    """
    plan, output, found = text.plan, text.directory.path, dict[str, int]()
    text.carry_out("counting", CountShard(plan, vocabulary), _counts(plan), plan.sizes)
    places = len(SIDES) * plan.partitions
    work = SumCounts(plan)
    text.carry_out("adding up", work, work.files, [1] * places, unit="partitions")
    for side in SIDES:
        with write_text(output / COUNT_FILES[side]) as stream:
            found[side] = 0
            for negative, word in heapq.merge(*work.sorted_counts(side)):
                stream.write(f"{word}\t{-negative}\n")
                found[side] += 1
    return found


def _counts(plan: TextPlan) -> ShardFiles:
    return ShardFiles(plan.folder / "counts", ARRAYS_SUFFIX)


@dataclass(frozen=True)
class CountShard:
    """Writes the counts of a shard, by side and partition."""

    plan: TextPlan
    vocabulary: Path | None

    def __call__(self, place: int) -> None:
        """Write the counts."""
        counts = {side: Counter[str]() for side in SIDES}
        batch: list[Example] = []
        for example in self.plan.examples(place):
            batch.append(example)
            if len(batch) == _BATCH_LINES:
                self._count(batch, counts)
                batch = []
        self._count(batch, counts)
        arrays = [_as_array(rows) for side in SIDES for rows in self._divided(counts[side])]
        _counts(self.plan).write(place, pack_arrays(arrays))

    def _count(self, examples: list[Example], counts: dict[Side, Counter[str]]) -> None:
        for side, number in zip(SIDES, (0, 1), strict=True):
            texts = [str(example[number]) for example in examples]
            if self.vocabulary is None:
                counts[side].update(word for text in texts for word in text.split())
                continue
            vocabulary: Vocabulary = getattr(_vocabularies(self.vocabulary), side)
            encoded = vocabulary.encode_batch(texts, normalized=True)
            ids = Counter(one for line in encoded for one in line)
            pieces = vocabulary.pieces(ids)
            counts[side].update(dict(zip(pieces, ids.values(), strict=True)))

    def _divided(self, counts: Counter[str]) -> list[list[tuple[str, int]]]:
        divided: list[list[tuple[str, int]]] = [[] for _ in range(self.plan.partitions)]
        for word in sorted(counts):
            digest = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            divided[digest % len(divided)].append((word, counts[word]))
        return divided


@dataclass(frozen=True)
class SumCounts:
    """Adds up the counts of one partition of one side over all shards."""

    plan: TextPlan

    @property
    def files(self) -> ShardFiles:
        """The sums of the source's partitions, then those of the target's."""
        return ShardFiles(self.plan.folder / "sums", ARRAYS_SUFFIX)

    def __call__(self, place: int) -> None:
        """Write the sums, the most frequent first."""
        plan, total = self.plan, Counter[str]()
        for shard in range(len(plan.shards)):
            places = len(SIDES) * plan.partitions
            content = read_array(_counts(plan), shard, place, places, np.uint8)
            total.update(dict(unpack_rows(content.tobytes())))
        rows = sorted((-count, word) for word, count in total.items())
        pieces = [
            _as_array(rows[first : first + _WORDS_AT_ONCE])
            for first in range(0, len(rows), _WORDS_AT_ONCE)
        ]
        self.files.write(place, pack_arrays(pieces), pieces=len(pieces))

    def sorted_counts(self, side: Side) -> list[Iterator[tuple[int, str]]]:
        """Negative counts with their words, in order, for each partition of a side."""
        first = SIDES.index(side) * self.plan.partitions
        return [self._rows(first + number) for number in range(self.plan.partitions)]

    def _rows(self, place: int) -> Iterator[tuple[int, str]]:
        pieces: int = self.files.facts(place)["pieces"]
        for number in range(pieces):
            content = read_array(self.files, place, number, pieces, np.uint8)
            yield from map(tuple, unpack_rows(content.tobytes()))


def _as_array(rows: Sequence[Any]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(pack_rows(rows), dtype=np.uint8)


@lru_cache(maxsize=1)
def _vocabularies(path: Path) -> Vocabularies:
    return Vocabularies.load(path)
