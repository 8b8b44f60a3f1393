"""Word alignments of a prepared corpus, row by row, and batches that carry them.

They have their own :class:`~dragoman.data.store.Store`, with the rows of the corpus' store.  Its
sources and targets are the source and target words of each link.  Pieces are matched to words when
a batch is made, because subword sampling may split words differently each time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dragoman.core.errors import DataError, SavedError
from dragoman.core.files import atomic_directory
from dragoman.core.ranges import IntArray
from dragoman.data.batches import Batch, Batches
from dragoman.data.origin import describe, digest, same_content
from dragoman.data.store import (
    FILE_NAMES,
    Store,
    StoreWriter,
    known_inputs,
    write_manifest,
)
from dragoman.models.interface import TranslationModel
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport, clean
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.pharaoh import Link, LinkCheck, read_alignments, word_count
from dragoman.text.vocabularies import EOS, PAD, Vocabularies, Vocabulary

log = logging.getLogger(__name__)

ALIGNMENTS_DIRECTORY = "alignments"
"""Name of the alignments directory in a run."""

_CHUNK_PAIRS = 4096

Bools = npt.NDArray[np.bool_]


class _Aligned(NamedTuple):
    """A cleaned pair with its links."""

    pair: Pair
    source_words: int | None
    """Words of the original line in the corpus, to which the links refer; see `word_count`."""
    target_words: int | None
    links: list[Link]


def prepare_alignments(
    directory: Path | str,
    store: Store,
    parts: Sequence[CorpusPart],
    vocabularies: Vocabularies,
    cleaning: CleaningConfig,
    *,
    held_out: frozenset[int] = frozenset(),
) -> Store:
    """Make the links of every row of ``store``, or open them if they exist and are up to date.

    The text is read and cleaned again to find the line of each row; each row is checked against the
    encoding of its line.

    Args:
        store: the store that :func:`~dragoman.data.prepare.prepare` made from ``parts``.
        parts: the corpus; rows of a part that is not aligned have no links.

    Raises:
        DataError: a file of links is missing or wrong, or its length differs from that of its part.
        StorageError: the disk refuses.
    """
    directory = Path(directory)
    paths = [Path(part.alignments) for part in parts if part.alignments is not None]
    inputs = describe(paths, known_inputs(directory))
    settings = digest([store.fingerprint, [part.is_aligned for part in parts]])
    if (found := _open(directory)) is not None:
        manifest = found.manifest
        if manifest.settings == settings and same_content(manifest.inputs, inputs):
            return found
    left_out = 0
    with atomic_directory(directory, FILE_NAMES) as unfinished:
        with StoreWriter(unfinished) as writer:
            for part, stored in zip(parts, store.parts, strict=True):
                rows = iter(range(stored.start, stored.stop))
                if not part.is_aligned:
                    while without := list(islice(rows, _CHUNK_PAIRS)):
                        _append(writer, [()] * len(without))
                    continue
                aligned = _aligned_pairs(part, cleaning, held_out)
                while chunk := list(islice(aligned, _CHUNK_PAIRS)):
                    links, changed = _of_rows(part, chunk, rows, store, vocabularies)
                    _append(writer, links)
                    left_out += changed
                if next(rows, None) is not None:
                    raise _changed_text(part)
        max_pieces = store.manifest.max_pieces
        write_manifest(unfinished, writer.manifest(store.parts, max_pieces, settings, inputs))
    if left_out:
        log.warning(
            "%d pairs are trained on without their alignments: white space other than spaces and "
            "tabs is between their words, or normalisation splits or joins them",
            left_out,
        )
    return Store.open(directory)


def _open(directory: Path) -> Store | None:
    try:
        return Store.open(directory)
    except SavedError:
        return None


def _aligned_pairs(
    part: CorpusPart, cleaning: CleaningConfig, held_out: frozenset[int]
) -> Iterator[_Aligned]:
    last: list[tuple[Pair, list[Link]]] = []  # the latest pair given to cleaning

    def raw_pairs() -> Iterator[Pair]:
        for pair, links in _joined(part):
            last[:] = [(pair, links)]
            yield pair

    kept = clean(
        raw_pairs(), cleaning, CleaningReport(), has_source=part.has_source, held_out=held_out
    )
    for pair in kept:
        ((raw, links),) = last
        yield _Aligned(pair, word_count(raw.source), word_count(raw.target), links)


def _joined(part: CorpusPart) -> Iterator[tuple[Pair, list[Link]]]:
    """Every pair of the corpus with its links, after checking them."""
    if (alignments := part.alignments) is None:
        yield from ((pair, part.file_format.links(pair)) for pair in read_pairs(part))
        return
    pairs, lines = read_pairs(part), read_alignments(alignments)
    check = LinkCheck(alignments, part.name)
    for number, (pair, links) in enumerate(zip_longest(pairs, lines), 1):
        if pair is None or links is None:
            longer = number + sum(1 for _ in (lines if pair is None else pairs))
            counts = (longer, number - 1) if pair is None else (number - 1, longer)
            raise DataError(
                f"{alignments} has {counts[0]} lines and {part.name} has {counts[1]} pairs; each "
                "pair needs a line, which may be empty"
            )
        check.add(number, links, (pair.source, pair.target), pair.line)
        yield pair, links
    check.finish()


def _of_rows(
    part: CorpusPart,
    chunk: Sequence[_Aligned],
    rows: Iterator[int],
    store: Store,
    vocabularies: Vocabularies,
) -> tuple[list[list[Link]], int]:
    """The links of the next rows, one per pair of ``chunk``, and the number of omitted pairs."""
    sources = vocabularies.source.encode_batch([one.pair.source for one in chunk], normalized=True)
    targets = vocabularies.target.encode_batch([one.pair.target for one in chunk], normalized=True)
    begins = _word_beginnings(vocabularies.source), _word_beginnings(vocabularies.target)
    found, changed = [], 0
    for one, source, target in zip(chunk, sources, targets, strict=True):
        if not (source and target) or max(len(source), len(target)) > store.manifest.max_pieces:
            continue  # encoding dropped it
        row = next(rows, None)
        if row is None or not (
            np.array_equal(store.source(row), source) and np.array_equal(store.target(row), target)
        ):
            raise _changed_text(part)
        words = int(begins[0][source].sum()), int(begins[1][target].sum())
        unchanged = words == (one.source_words, one.target_words)
        found.append(one.links if unchanged else [])
        changed += not unchanged
    return found, changed


def _changed_text(part: CorpusPart) -> DataError:
    links = part.alignments or "its format"
    return DataError(
        f"{part.name}: the prepared text is not that of the file, so {links} does not "
        "say which of its words are linked; prepare the data again, and change the text of a part "
        "with alignments by cleaning alone"
    )


def _append(writer: StoreWriter, rows: Sequence[Sequence[Link]]) -> None:
    counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    links = np.array(list(chain.from_iterable(rows)), dtype=np.int32).reshape(-1, 2)
    writer.append(links[:, 0], counts, links[:, 1], counts)


def _word_beginnings(vocabulary: Vocabulary) -> Bools:
    """Whether each piece begins a word; bool, ``(vocabulary,)``."""
    vocabulary.require_space_signs("training on word alignments")
    pieces = vocabulary.pieces(range(len(vocabulary)))
    return np.array([piece.startswith("\u2581") for piece in pieces])


class AlignedBatches:
    """Batches with their alignments between pieces.

    A target piece is linked to a source piece if a link joins their words.

    Args:
        links: the links that :func:`prepare_alignments` made for that store.
    """

    def __init__(self, batches: Batches, links: Store, vocabularies: Vocabularies) -> None:
        self._batches, self._links = batches, links
        self._begins = tuple(map(_word_beginnings, vocabularies))

    def windows(self, epoch: int) -> int:
        """Number of windows in ``epoch``."""
        return self._batches.windows(epoch)

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        """The batches of each step of one window, from step ``start`` on."""
        for step in self._batches.window(epoch, window, start):
            yield [replace(batch, alignments=self._of(batch)) for batch in step]

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        """The batch as the objective reads it."""
        return self._batches.completed(batch, model)

    def _of(self, batch: Batch) -> Tensor | None:
        """Links between pieces, ``(batch, target, source)``; None if the batch has none."""
        rows = batch.rows.numpy()
        sources, counts = self._links.gather("source", rows)  # (links,), (batch,)
        targets, _ = self._links.gather("target", rows)
        if not len(sources):
            return None
        source_words = _words(batch.source.numpy(), self._begins[0])
        target_words = _words(batch.target_output.numpy(), self._begins[1])
        # One extra word on each side, index -1, for pieces that belong to no word.
        sizes = [
            max(int(words.max()), int(ends.max())) + 2
            for words, ends in ((target_words, targets), (source_words, sources))
        ]
        # (batch, target words, source words)
        linked = np.zeros((len(rows), *sizes), dtype=np.bool_)
        sentences = np.arange(len(rows))
        linked[np.repeat(sentences, counts), targets, sources] = True
        # (batch, target, source)
        pieces = linked[sentences[:, None, None], target_words[:, :, None], source_words[:, None]]
        return torch.from_numpy(pieces)


def _words(ids: IntArray, begins: Bools) -> IntArray:
    """The word of each piece, ``(batch, length)``; -1 for end, padding and tags in front."""
    words: IntArray = np.cumsum(begins[ids], axis=1) - 1
    words[(ids == EOS) | (ids == PAD)] = -1
    return words
