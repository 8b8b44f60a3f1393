"""The plan of a corpus: its text, the cut into shards, and the files of each stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.core.shard_files import ShardFiles
from dragoman.data.bulk.shard_rows import ARRAYS_SUFFIX, ROWS_SUFFIX, pack_rows, unpack_rows
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example, Origin
from dragoman.text.formats import Pair

# Memory holds the keys of one partition, and the rows of one shard.
_PARTITION_PAIRS = 1 << 20
_SHARD_CHARACTERS = 1 << 24

SHARD_LINES = 50_000
"""Default number of pairs in a shard: some seconds of work, and tens of megabytes of memory."""


class TextShard(NamedTuple):
    """Consecutive pairs of one part."""

    part: int
    number: int
    """Number of the shard in its part, from 0."""
    pairs: int


@dataclass(frozen=True)
class TextPlan:
    """The text of a corpus, and the rules of its cleaning; sent to every worker."""

    folder: Path
    """Directory of all shards."""
    parts: tuple[CorpusPart, ...]
    labels: tuple[str, ...]
    """Names of the parts in reports."""
    cleaning: CleaningConfig
    held_out: frozenset[int]
    shard_lines: int
    across_parts: bool
    """Whether a pair that occurred in an earlier part is a duplicate."""
    shards: tuple[TextShard, ...] = ()
    """Shards in the order of the text; empty before it is cut."""

    @property
    def partitions(self) -> int:
        """Number of partitions of the keys, such that each fits into memory."""
        return max(1, -(-sum(shard.pairs for shard in self.shards) // _PARTITION_PAIRS))

    @property
    def sizes(self) -> list[int]:
        """The number of pairs of each shard."""
        return [shard.pairs for shard in self.shards]

    def groups(self) -> list[list[int]]:
        """Groups of shards within which duplicates are sought, in order."""
        if self.across_parts:
            return [list(range(len(self.shards)))]
        groups: list[list[int]] = [[] for _ in self.parts]
        for place, shard in enumerate(self.shards):
            groups[shard.part].append(place)
        return groups

    def pairs(self, part: int) -> ShardFiles:
        """The pairs of a part as read from its files."""
        return ShardFiles(self.folder / "pairs" / f"{part:03}", ROWS_SUFFIX)

    @property
    def keys(self) -> ShardFiles:
        """Keys of the pairs that only a duplicate can drop, by partition."""
        return ShardFiles(self.folder / "keys", ARRAYS_SUFFIX)

    @property
    def duplicates(self) -> ShardFiles:
        """For each partition, the duplicates among its keys, by shard."""
        return ShardFiles(self.folder / "duplicates", ARRAYS_SUFFIX)

    @property
    def cleaned(self) -> ShardFiles:
        """The examples that cleaning keeps."""
        return ShardFiles(self.folder / "cleaned", ROWS_SUFFIX)

    def raw_pairs(self, place: int) -> list[Pair]:
        """The pairs of a shard."""
        shard = self.shards[place]
        rows = unpack_rows(self.pairs(shard.part).read(shard.number))
        return [
            Pair(source, target, line, tuple((one, other) for one, other in before))
            for source, target, line, before in rows
        ]

    def write_examples(self, place: int, examples: list[Example], **facts: Any) -> None:
        """Finish a shard of :attr:`cleaned`."""
        rows = [[*example[:-1], example.line] for example in examples]
        self.cleaned.write(place, pack_rows(rows), **facts)

    def examples(self, place: int) -> Iterator[Example]:
        """The cleaned examples of a shard."""
        name = self.parts[self.shards[place].part].name
        for source, target, given, wanted, tags, line in unpack_rows(self.cleaned.read(place)):
            yield Example(source, target, given, wanted, tuple(tags), Origin(name, line))


@dataclass(frozen=True)
class PartCut:
    """Cuts the files of a part into shards, reading them once from beginning to end."""

    plan: TextPlan

    def __call__(self, part: int) -> None:
        """Write the missing shards."""
        files, sizes = self.plan.pairs(part), list[int]()
        for rows in self._pieces(part):
            if files.record(len(sizes)) is None:
                files.write(len(sizes), pack_rows(rows))
            sizes.append(len(rows))
        files.write_note({"sizes": sizes})

    def _pieces(self, part: int) -> Iterator[list[Any]]:
        rows: list[Any] = []
        characters = 0
        for pair in read_pairs(self.plan.parts[part]):
            rows.append(pair)
            characters += len(pair.source) + len(pair.target)
            if len(rows) == self.plan.shard_lines or characters >= _SHARD_CHARACTERS:
                yield rows
                rows, characters = [], 0
        if rows:
            yield rows
