"""Preparing a run by many workers: cleaned text for the vocabularies, then encoded text."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.core.files import remove_directory
from dragoman.core.processes import Runner
from dragoman.core.shard_files import ShardFiles
from dragoman.data.bulk.bulk_directory import BulkDirectory
from dragoman.data.bulk.bulk_text import BulkText, ShowStage, show_nothing
from dragoman.data.bulk.shard_rows import ARRAYS_SUFFIX, pack_arrays, unpack_arrays
from dragoman.data.bulk.text_plan import SHARD_LINES, TextPlan
from dragoman.data.encoding import EncodedChunk, Encoder
from dragoman.data.origin import InputFile, digest
from dragoman.data.prepare import chunk_of, nothing_left, pieces_of
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example

BULK_DIRECTORY = "bulk"
"""Name of the directory in a run while many workers prepare it."""

_DTYPES = ("<i4", "<i8", "<i4", "<i8")
_SHORT_DIGEST = 12


@dataclass(frozen=True)
class BulkWorkers:
    """Workers that prepare a run, and the size of their portions."""

    runner: Runner
    shard_lines: int = SHARD_LINES
    show: ShowStage = show_nothing


class BulkPreparation:
    """Text of a run as workers prepare it; no work is done before a method needs it.

    Args:
        folder: temporary directory of the shards.
        parts: the corpus, with absolute paths.
    """

    def __init__(
        self,
        folder: Path,
        parts: Sequence[CorpusPart],
        cleaning: CleaningConfig,
        held_out: frozenset[int],
        *,
        inputs: Sequence[InputFile],
        workers: BulkWorkers,
    ) -> None:
        self._folder = folder
        self._text = BulkText(
            BulkDirectory(folder, results=()),
            parts,
            cleaning,
            runner=workers.runner,
            held_out=held_out,
            inputs=inputs,
            shard_lines=workers.shard_lines,
            show=workers.show,
        )
        self._cleaned: CleaningReport | None = None

    def examples(self) -> Iterator[tuple[Example, float]]:
        """The cleaned text with the weight of each part, for vocabularies."""
        self._clean()
        plan = self._text.plan
        for place, shard in enumerate(plan.shards):
            weight = plan.parts[shard.part].weight
            for example in plan.examples(place):
                yield example, weight

    def encode(
        self, encoder: Encoder, report: CleaningReport
    ) -> Generator[EncodedChunk, None, None]:
        """The ids of the whole corpus, in order, a shard at a time; see ``prepare``."""
        report.parts.update(self._clean().parts)
        plan = self._text.plan
        files = _encoded_files(plan, encoder)
        self._text.carry_out("encoding", EncodeShard(plan, encoder), files, plan.sizes)
        read = 0
        for place, shard in enumerate(plan.shards):
            read += shard.pairs
            facts = files.facts(place)
            source, source_lengths, target, target_lengths = unpack_arrays(
                files.read(place), _DTYPES
            )
            yield EncodedChunk(
                part=shard.part,
                source=source,
                source_lengths=source_lengths,
                target=target,
                target_lengths=target_lengths,
                too_long=facts["too_long"],
                empty=facts["empty"],
                pairs_read=read,
            )

    def remove(self) -> None:
        """Remove the shards, once the run holds their results."""
        if self._folder.exists():
            remove_directory(self._folder)

    def _clean(self) -> CleaningReport:
        if self._cleaned is None:
            self._text.directory.begin(self._text.origin())
            plan = self._text.clean()
            report = self._text.report()
            if not report.kept:
                raise nothing_left(plan.parts, report)
            self._cleaned = report
        return self._cleaned


def _encoded_files(plan: TextPlan, encoder: Encoder) -> ShardFiles:
    """The shards made by this encoder; shards of others may lie beside them."""
    name = digest([*encoder.vocabularies.fingerprints, encoder.max_pieces])[:_SHORT_DIGEST]
    return ShardFiles(plan.folder / f"encoded-{name}", ARRAYS_SUFFIX)


@dataclass(frozen=True)
class EncodeShard:
    """Writes the ids of a shard."""

    plan: TextPlan
    encoder: Encoder

    def __call__(self, place: int) -> None:
        """Write the ids, and the lines that have too many pieces or none."""
        plan, part = self.plan, self.plan.shards[place].part
        context = plan.parts[part].context
        chunks = [
            self.encoder(chunk_of(part, pairs, 0, context))
            for pairs in pieces_of(plan.examples(place))
        ]
        arrays = [
            np.concatenate([getattr(chunk, name) for chunk in chunks]).astype(dtype)
            for name, dtype in zip(
                ("source", "source_lengths", "target", "target_lengths"), _DTYPES, strict=True
            )
        ]
        _encoded_files(plan, self.encoder).write(
            place,
            pack_arrays(arrays),
            too_long=[line for chunk in chunks for line in chunk.too_long],
            empty=[line for chunk in chunks for line in chunk.empty],
        )
