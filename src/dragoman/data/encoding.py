"""Encoding sentence pairs by several processes, in order and in constant memory."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dragoman.core.processes import WorkerPool
from dragoman.core.ranges import IntArray, flattened
from dragoman.text.context import ContextConfig, ContextFitter
from dragoman.text.vocabularies import Vocabularies

Ids = npt.NDArray[np.int32]

# Maximum chunks in progress per process: one being encoded, one waiting.
_CHUNKS_AHEAD = 2


@dataclass(frozen=True)
class Chunk:
    """Some consecutive pairs of one part of a corpus."""

    part: int
    sources: list[str]
    """Source sentences normalised by cleaning, with their tags; empty strings without a source."""
    targets: list[str]
    lines: list[int]
    pairs_read: int
    """Pairs read so far from the whole corpus, including dropped ones."""
    context: ContextConfig | None = None
    """The context of the sources, if any."""


@dataclass(frozen=True)
class EncodedChunk:
    """The ids of a chunk: one sentence after another, and the length of each."""

    part: int
    source: Ids
    source_lengths: IntArray
    target: Ids
    target_lengths: IntArray
    too_long: list[int]
    """Lines of the pairs dropped because a side has more than ``max_pieces``."""
    empty: list[int]
    """Lines of the pairs dropped because a side has no piece."""
    pairs_read: int


@dataclass(frozen=True)
class Encoder:
    """Encodes chunks with two vocabularies; can be sent to another process."""

    vocabularies: Vocabularies
    max_pieces: int

    def __call__(self, chunk: Chunk) -> EncodedChunk:
        """Encode one chunk, dropping pairs that are too long or empty."""
        sources = self.vocabularies.source.encode_batch(chunk.sources, normalized=True)
        targets = self.vocabularies.target.encode_batch(chunk.targets, normalized=True)
        if chunk.context is not None:
            fitter = ContextFitter(chunk.context, self.vocabularies, self.max_pieces)
            sources, targets = fitter(chunk.sources, chunk.targets, sources, targets)
        kept: list[tuple[list[int], list[int]]] = []
        too_long, empty = [], []
        for line, text, source, target in zip(
            chunk.lines, chunk.sources, sources, targets, strict=True
        ):
            if not target or (text and not source):
                empty.append(line)
            elif max(len(source), len(target)) > self.max_pieces:
                too_long.append(line)
            else:
                kept.append((source, target))
        source_ids, source_lengths = flattened([source for source, _ in kept])
        target_ids, target_lengths = flattened([target for _, target in kept])
        return EncodedChunk(
            part=chunk.part,
            source=source_ids.astype(np.int32),
            source_lengths=source_lengths,
            target=target_ids.astype(np.int32),
            target_lengths=target_lengths,
            too_long=too_long,
            empty=empty,
            pairs_read=chunk.pairs_read,
        )


def encode_chunks(
    chunks: Iterable[Chunk], encoder: Encoder, processes: int
) -> Generator[EncodedChunk, None, None]:
    """Encode chunks; the results come in order for any number of processes.

    Args:
        chunks: consumed as results are taken, a few chunks ahead.
        processes: number of encoding processes in addition to this process; with 1, this process
            encodes alone.
    """
    if processes == 1:
        yield from map(encoder, chunks)
        return
    pool = WorkerPool(
        processes,
        _start_worker,
        (encoder,),
        work="encodes text",
        remedy="repeat with fewer processes, such as 1 (data.processes)",
    )
    try:
        yield from pool.in_order(_encode, chunks, ahead=processes * _CHUNKS_AHEAD)
    finally:
        pool.close()


_encoder: Encoder | None = None  # of a worker process; sent once, not with every chunk


def _start_worker(encoder: Encoder) -> None:
    global _encoder  # noqa: PLW0603 - the only state that a pool's worker can keep
    _encoder = encoder


def _encode(chunk: Chunk) -> EncodedChunk:
    assert _encoder is not None, "the initializer ran first"
    return _encoder(chunk)
