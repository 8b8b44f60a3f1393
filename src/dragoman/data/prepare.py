"""Raw text to a store: read, clean, encode and write, or recognise a store that is up to date."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError, SavedError
from dragoman.core.files import atomic_directory, read_json, write_json
from dragoman.data.encoding import Chunk, EncodedChunk, Encoder, encode_chunks
from dragoman.data.origin import (
    InputFile,
    clean_text_settings,
    describe,
    digest,
    same_content,
)
from dragoman.data.store import (
    FILE_NAMES,
    FORMAT,
    REMEDY,
    Store,
    StoredPart,
    StoreWriter,
    known_inputs,
    write_manifest,
)
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport, clean_part
from dragoman.text.corpora.cleaning_report import CountedLines, PartReport
from dragoman.text.corpora.corpus import part_labels
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction, Example
from dragoman.text.vocabularies import Vocabularies

REPORT = "report.json"
_FILES = FILE_NAMES | {REPORT}

# A chunk is full at this many pairs or characters: enough to outweigh the cost of sending it, and
# few enough that memory stays constant with lines of any length.
_CHUNK_PAIRS = 4096
_CHUNK_CHARACTERS = 1 << 20

Encode = Callable[[Encoder, CleaningReport], Generator[EncodedChunk, None, None]]
"""Gives a whole corpus in order.  Before the first pairs of a part, it adds the effects of cleaning
on that part to the report.
"""


def prepare(
    directory: Path | str,
    parts: Sequence[CorpusPart],
    vocabularies: Vocabularies,
    cleaning: CleaningConfig,
    *,
    max_pieces: int,
    held_out: frozenset[int] = frozenset(),
    inputs: Sequence[InputFile] | None = None,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
    encode: Encode | None = None,
) -> tuple[Store, CleaningReport]:
    """Make the store of a corpus at ``directory``, or open it if it exists and is up to date.

    It is up to date while the content of the files and all settings are the same; a file that was
    only moved or touched is recognised.  The result does not depend on ``processes``, and appears
    complete or not at all.

    Args:
        parts: the corpus, with absolute paths.
        held_out: keys of pairs that must not be trained on, see
            :func:`~dragoman.text.corpora.cleaning.held_out_keys`.
        inputs: the files of the corpus, if they have just been described.
        processes: number of processes that encode; by default chosen by the size of the text.
        encode: cleans and encodes the corpus in place of this process and ``processes``.

    Returns:
        The store, and the numbers of dropped pairs by reason; an existing store returns the same
        report.

    Raises:
        DataError: the text cannot be used, or cleaning leaves nothing of it, or of a task.
        StorageError: the disk refuses, or ``directory`` holds something else.
    """
    assert max_pieces > 0, "a sentence has at least one piece"
    assert processes is None or processes > 0, "at least one process encodes"
    directory = Path(directory)
    settings = digest(
        {
            "format": FORMAT,
            "vocabularies": list(vocabularies.fingerprints),
            "max_pieces": max_pieces,
            **clean_text_settings(parts, cleaning, held_out),
        }
    )
    if inputs is None:
        paths = [path for part in parts for path in part.inputs()]
        inputs = describe(paths, known_inputs(directory))
    if (found := _open_if_current(directory, parts, inputs, settings)) is not None:
        return found
    report, encoder = CleaningReport(), Encoder(vocabularies, max_pieces)

    def encode_here(
        encoder: Encoder, report: CleaningReport
    ) -> Generator[EncodedChunk, None, None]:
        with closing(_chunks(parts, cleaning, report, held_out)) as chunks:
            yield from encode_chunks(chunks, encoder, processes or _processes(parts))

    with atomic_directory(directory, _FILES) as unfinished:
        with (
            StoreWriter(unfinished) as writer,
            closing((encode or encode_here)(encoder, report)) as encoded,
        ):
            kept = _write(encoded, writer, parts, report, progress)
        if writer.pairs == 0:
            raise nothing_left(parts, report)
        _check_tasks(parts, kept, report)
        write_json(unfinished / REPORT, report.to_json())
        stored = _ranges(parts, kept)
        write_manifest(unfinished, writer.manifest(stored, max_pieces, settings, inputs))
    return Store.open(directory), report


def open_prepared(directory: Path | str) -> tuple[Store, CleaningReport]:
    """The result of :func:`prepare` stored at ``directory``, from any corpus.

    Raises:
        SavedError: it is missing or damaged.
    """
    path = Path(directory) / REPORT
    store = Store.open(directory)
    try:
        return store, CleaningReport.from_json(read_json(path))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SavedError(f"{path}: missing or damaged; {REMEDY}") from error


def _write(
    chunks: Iterable[EncodedChunk],
    writer: StoreWriter,
    parts: Sequence[CorpusPart],
    report: CleaningReport,
    progress: Callable[[int], None] | None,
) -> list[int]:
    """Write and report chunks as they come; return the number of written pairs of each part."""
    kept, labels = [0] * len(parts), part_labels(parts)
    for chunk in chunks:
        writer.append(chunk.source, chunk.source_lengths, chunk.target, chunk.target_lengths)
        kept[chunk.part] += len(chunk.source_lengths)
        _leave_out(report.part(labels[chunk.part]), chunk)
        if progress is not None:
            progress(chunk.pairs_read)
    return kept


def _chunks(
    parts: Sequence[CorpusPart],
    cleaning: CleaningConfig,
    report: CleaningReport,
    held_out: frozenset[int],
) -> Generator[Chunk, None, None]:
    for number, (part, label) in enumerate(zip(parts, part_labels(parts), strict=True)):
        examples = clean_part(part, cleaning, report, held_out=held_out, label=label)
        for pairs in pieces_of(examples):
            yield chunk_of(number, pairs, report.read, part.context)


def pieces_of(examples: Iterable[Example]) -> Generator[list[Example], None, None]:
    """Examples in lists of bounded size, the last of which may be empty."""
    pairs: list[Example] = []
    characters = 0
    for pair in examples:
        pairs.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(pairs) == _CHUNK_PAIRS or characters >= _CHUNK_CHARACTERS:
            yield pairs
            pairs, characters = [], 0
    yield pairs


def chunk_of(part: int, pairs: list[Example], read: int, context: ContextConfig | None) -> Chunk:
    """Examples of one part, ready to be encoded."""
    return Chunk(
        part=part,
        sources=[pair.tagged_source for pair in pairs],
        targets=[pair.target for pair in pairs],
        lines=[pair.line for pair in pairs],
        pairs_read=read,
        context=context,
    )


def _leave_out(report: PartReport, encoded: EncodedChunk) -> None:
    for reason, lines in (("too many pieces", encoded.too_long), ("no pieces", encoded.empty)):
        for line in lines:
            report.dropped.setdefault(reason, CountedLines()).add(line)
            report.kept -= 1


def _check_tasks(parts: Sequence[CorpusPart], kept: Sequence[int], report: CleaningReport) -> None:
    """Check that every task has pairs, because its steps are made of them.

    Raises:
        DataError: a task has none.
    """
    labels = part_labels(parts)
    for task in dict.fromkeys(part.task for part in parts):
        own = [number for number, part in enumerate(parts) if part.task == task]
        if not any(kept[number] for number in own):
            found = CleaningReport({labels[n]: report.part(labels[n]) for n in own})
            raise nothing_left([parts[number] for number in own], found)


def nothing_left(parts: Sequence[CorpusPart], report: CleaningReport) -> DataError:
    """The error with the reasons why no pair is left, such as "9 of 12 dropped: empty"."""
    counts: Counter[str] = Counter()
    for part in report.parts.values():
        counts.update({reason: finding.count for reason, finding in part.dropped.items()})
    main = "".join(
        f"{count} of {report.read} dropped: {reason}" for reason, count in counts.most_common(1)
    )
    return DataError(
        f"no sentence pair of {', '.join(part.name for part in parts)} is left after cleaning "
        f"({main}); check the files, or relax the cleaning and the filters"
    )


def _ranges(parts: Sequence[CorpusPart], kept: Sequence[int]) -> list[StoredPart]:
    ranges = []
    start = 0
    for part, label, count in zip(parts, part_labels(parts), kept, strict=True):
        direction = _stored_direction(part)
        ranges.append(
            StoredPart(
                name=label,
                start=start,
                stop=start + count,
                weight=part.weight,
                **direction.model_dump(),
            )
        )
        start += count
    return ranges


def _stored_direction(part: CorpusPart) -> Direction:
    """The languages that training sees, and the tags in front of the stored sources.

    Transforms that run in each epoch may change the languages, as a copy does, and add tags.  Text
    without a source comes from no language, even if the run has a source language.
    """
    changed: dict[str, Any] = {"tags": part.prepared_direction.tags}
    if not part.gives_source:
        changed["source_language"] = "source"
    return part.direction.model_copy(update=changed)


def _open_if_current(
    directory: Path, parts: Sequence[CorpusPart], inputs: Sequence[InputFile], settings: str
) -> tuple[Store, CleaningReport] | None:
    """The store and its report if they are complete and made from exactly these inputs.

    Descriptions of its rows, such as the name of a language, are updated.
    """
    try:
        store, report = open_prepared(directory)
    except SavedError:
        return None
    manifest = store.manifest
    if manifest.settings != settings or not same_content(manifest.inputs, inputs):
        return None
    described = [
        stored.model_copy(update=dict(_stored_direction(part)))
        for stored, part in zip(manifest.parts, parts, strict=True)
    ]
    if described != manifest.parts:
        manifest = manifest.model_copy(update={"parts": described})
        write_manifest(directory, manifest)
        store = Store(directory, manifest)
    return store, report


def _processes(parts: Sequence[CorpusPart]) -> int:
    """One process per core; none for a small corpus, which is encoded before they would start."""
    size = sum(path.stat().st_size for part in parts for path in part.files() if path.exists())
    return 1 if size < 20_000_000 else os.cpu_count() or 1
