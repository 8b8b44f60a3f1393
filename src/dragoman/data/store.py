"""A corpus as ids on disk, memory-mapped, so that opening needs no memory at any size.

A store is a directory.  Each side has ``*.ids`` (the ids of all sentences one after another, int32)
and ``*.offsets`` (the start of each sentence, and the end of the last, int64), little-endian.
``store.json``, a :class:`Manifest`, describes their content and origin.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from dragoman.core.config import Config, parse
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import read_json, write_json
from dragoman.core.ranges import IntArray, Scalar, gathered
from dragoman.data.origin import InputFile, digest

FORMAT: Literal[1] = 1
DATA_DIRECTORY = "data"
"""Name of the data directory in a run."""
MANIFEST = "store.json"

Ids = npt.NDArray[np.int32]
Side = Literal["source", "target"]

_RATIO_ROWS = 1_000_000
_IDS_AT_ONCE = 1 << 24
_ROWS_AT_ONCE = 1 << 20
_ID: np.dtype[np.int32] = np.dtype("<i4")
_OFFSET: np.dtype[np.int64] = np.dtype("<i8")
_SIDES: tuple[Side, Side] = ("source", "target")
FILE_NAMES = frozenset(
    [MANIFEST, *(f"{side}.{kind}" for side in _SIDES for kind in ("ids", "offsets"))]
)
REMEDY = "prepare the data again (dragoman prepare)"


class StoredPart(Config):
    """The rows that come from one part of the corpus."""

    name: str
    """What reports call the part."""
    start: int = Field(ge=0)
    """Its first row."""
    stop: int = Field(ge=0)
    """The row after its last."""
    weight: float = Field(gt=0)
    """How often each of its pairs is seen per epoch, on average."""
    source_language: str = "source"
    """Language of its sources."""
    target_language: str = "target"
    """Language of its targets."""
    tags: tuple[str, ...] = ()
    """Tags in front of each of its stored sources."""


class StoredFile(Config):
    """Size and checksum of one file of a store."""

    size_bytes: int = Field(ge=0)
    """Its size."""
    crc32: int = Field(ge=0)
    """Its CRC-32, against truncation and bit rot."""


class Manifest(Config):
    """The content of ``store.json``."""

    format: Literal[1]
    """Version of the layout on disk."""
    pairs: int = Field(ge=0)
    """Number of sentence pairs."""
    max_pieces: int = Field(gt=0)
    """Maximum number of ids of a sentence."""
    parts: list[StoredPart]
    """Row ranges, in order, without gaps."""
    fingerprint: str
    """Digest of everything the ids depend on: corpus content, cleaning, vocabularies."""
    settings: str
    """Digest of the same without the corpus content."""
    inputs: list[InputFile]
    """The corpus files."""
    files: dict[str, StoredFile]
    """The store's own files."""


class Store:
    """Sentence pairs as ids, row by row.  Arrays are read-only views of the mapped files."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory = directory
        self.manifest = manifest
        self._ids = {side: _map(directory / f"{side}.ids", _ID) for side in _SIDES}
        self._offsets = {side: _map(directory / f"{side}.offsets", _OFFSET) for side in _SIDES}

    def __reduce__(self) -> tuple[type[Store], tuple[Path, Manifest]]:
        return Store, (self.directory, self.manifest)  # another process maps the same files

    @classmethod
    def open(cls, directory: Path | str) -> Store:
        """Open a store, reading it through once to check that it is whole.

        Raises:
            SavedError: there is no store, or a file of it is missing, truncated or altered.
        """
        directory = Path(directory)
        manifest = read_manifest(directory)
        for name, expected in manifest.files.items():
            _check(directory / name, expected)
        try:
            store = cls(directory, manifest)
            fits = store._fits()
        except ValueError:  # of a file that does not consist of whole numbers
            fits = False
        if not fits:
            raise SavedError(f"{directory / MANIFEST}: does not fit the files beside it; {REMEDY}")
        return store

    def _fits(self) -> bool:
        """Whether the arrays have the number of rows in the manifest."""
        ends = [(offsets, len(self._ids[side])) for side, offsets in self._offsets.items()]
        return all(part.start <= part.stop <= len(self) for part in self.parts) and all(
            len(offsets) == len(self) + 1 and offsets[0] == 0 and offsets[-1] == count
            for offsets, count in ends
        )

    def __len__(self) -> int:
        return self.manifest.pairs

    @property
    def parts(self) -> Sequence[StoredPart]:
        """Row ranges with their weights."""
        return self.manifest.parts

    def part_numbers(self, rows: IntArray) -> IntArray:
        """Index into :attr:`parts` of each of ``rows``, ``(rows,)``."""
        stops = np.array([part.stop for part in self.parts], dtype=np.int64)
        return np.searchsorted(stops, rows, side="right")

    @property
    def fingerprint(self) -> str:
        """Digest of everything the ids depend on."""
        return self.manifest.fingerprint

    @property
    def source_lengths(self) -> IntArray:
        """Number of ids of every source sentence, ``(pairs,)``; 8 bytes of memory per pair."""
        return np.diff(self._offsets["source"])

    @property
    def target_lengths(self) -> IntArray:
        """Number of ids of every target sentence, ``(pairs,)``; 8 bytes of memory per pair."""
        return np.diff(self._offsets["target"])

    def length_ratio(self, parts: Collection[int]) -> float | None:
        """The median number of target ids per source id, counting end symbols.

        None if no pair has a source.  A large store is sampled at regular intervals.

        Args:
            parts: indices into :attr:`parts` of those whose sources have words.
        """
        chosen = [self.parts[number] for number in sorted(parts)]
        step = max(1, sum(part.stop - part.start for part in chosen) // _RATIO_ROWS)
        ranges = [np.arange(part.start, part.stop, step, dtype=np.int64) for part in chosen]
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *ranges])
        sources, targets = self.lengths("source", rows), self.lengths("target", rows)
        filled = sources > 0
        if not filled.any():
            return None
        return round(float(np.median((targets[filled] + 1) / (sources[filled] + 1))), 4)

    def longest(self, side: Side) -> int:
        """The largest number of ids of a sentence on a side; 0 for an empty store."""
        offsets, starts = self._offsets[side], range(0, len(self), _ROWS_AT_ONCE)
        each = (np.diff(offsets[start : start + _ROWS_AT_ONCE + 1]) for start in starts)
        return max((int(lengths.max()) for lengths in each), default=0)

    def source(self, row: int) -> Ids:
        """The source ids of one row, without end symbol."""
        return self._sentence("source", row)

    def target(self, row: int) -> Ids:
        """The target ids of one row, without begin and end symbol."""
        return self._sentence("target", row)

    def lengths(self, side: Side, rows: IntArray) -> IntArray:
        """Number of ids of the sentences in ``rows``, ``(rows,)``."""
        offsets = self._offsets[side]
        lengths: IntArray = offsets[rows + 1] - offsets[rows]
        return lengths

    def gather(self, side: Side, rows: IntArray) -> tuple[Ids, IntArray]:
        """The sentences in ``rows`` one after another, and the length of each, ``(rows,)``."""
        return take(self._ids[side], self._offsets[side], rows)

    def piece_counts(self, side: Side, part: int, size: int) -> IntArray:
        """Number of occurrences of each id on a side of one of :attr:`parts`, ``(size,)``."""
        chosen, offsets = self.parts[part], self._offsets[side]
        start, stop = int(offsets[chosen.start]), int(offsets[chosen.stop])
        counts = np.zeros(size, dtype=np.int64)
        for first in range(start, stop, _IDS_AT_ONCE):
            ids = self._ids[side][first : min(first + _IDS_AT_ONCE, stop)]
            counts += np.bincount(ids, minlength=size)
        return counts

    def _sentence(self, side: Side, row: int) -> Ids:
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of a store of {len(self)} rows")
        offsets = self._offsets[side]
        return self._ids[side][offsets[row] : offsets[row + 1]]


def take(
    ids: npt.NDArray[Scalar], offsets: IntArray, rows: IntArray
) -> tuple[npt.NDArray[Scalar], IntArray]:
    """Select sentences from those stored one after another in ``ids``, in the given order.

    Args:
        offsets: start of each sentence, and the end of the last.
        rows: numbers of the sentences to take, ``(rows,)``.

    Returns:
        Their ids one after another, and the length of each, ``(rows,)``.
    """
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    return gathered(ids, starts, lengths), lengths


class StoreWriter:
    """Appends pairs to the files of a store without holding them in memory.

    A context manager: the files are closed at the end of the block.
    """

    def __init__(self, directory: Path) -> None:
        self._ids = {side: _Output(directory / f"{side}.ids") for side in _SIDES}
        self._offsets = {side: _Output(directory / f"{side}.offsets") for side in _SIDES}
        self._ends = dict.fromkeys(_SIDES, 0)
        self.pairs = 0
        for side in _SIDES:
            self._offsets[side].write(np.zeros(1, dtype=_OFFSET))

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for output in self._outputs():
            output.close()

    def append(
        self, source: Ids, source_lengths: IntArray, target: Ids, target_lengths: IntArray
    ) -> None:
        """Add pairs: the ids of each side one after another, and the length of each sentence."""
        assert len(source_lengths) == len(target_lengths), "a pair has two sides"
        self._append("source", source, source_lengths)
        self._append("target", target, target_lengths)
        self.pairs += len(source_lengths)

    def _append(self, side: Side, ids: Ids, lengths: IntArray) -> None:
        assert int(lengths.sum()) == len(ids), "the lengths cover all ids"
        self._ids[side].write(ids.astype(_ID))
        self._offsets[side].write((np.cumsum(lengths) + self._ends[side]).astype(_OFFSET))
        self._ends[side] += len(ids)

    def manifest(
        self,
        parts: Sequence[StoredPart],
        max_pieces: int,
        settings: str,
        inputs: Sequence[InputFile] = (),
    ) -> Manifest:
        """The manifest of the written pairs, which depend on ``settings`` and ``inputs``."""
        return Manifest(
            format=FORMAT,
            pairs=self.pairs,
            max_pieces=max_pieces,
            parts=list(parts),
            fingerprint=digest([settings, [file.sha256 for file in inputs]]),
            settings=settings,
            inputs=list(inputs),
            files={output.path.name: output.stored() for output in self._outputs()},
        )

    def _outputs(self) -> list[_Output]:
        return [*self._ids.values(), *self._offsets.values()]


class _Output:
    """A file being written, with its size and checksum so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream: BinaryIO = path.open("wb")
        self._size_bytes = 0
        self._crc32 = 0

    def write(self, values: npt.NDArray[np.generic]) -> None:
        content = values.tobytes()
        self._stream.write(content)
        self._size_bytes += len(content)
        self._crc32 = zlib.crc32(content, self._crc32)

    def close(self) -> None:
        self._stream.close()

    def stored(self) -> StoredFile:
        return StoredFile(size_bytes=self._size_bytes, crc32=self._crc32)


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write ``store.json``, last of all, because it makes the directory a store."""
    write_json(directory / MANIFEST, manifest.model_dump())


def read_manifest(directory: Path) -> Manifest:
    """Read ``store.json``.

    Raises:
        SavedError: it is missing, damaged or of another version.
    """
    path = directory / MANIFEST
    try:
        values = read_json(path)
    except FileNotFoundError:
        raise SavedError(f"{directory}: no prepared data here; {REMEDY}") from None
    except (OSError, ValueError) as error:
        raise SavedError(f"{path}: damaged or unreadable; {REMEDY}") from error
    version = values.get("format") if isinstance(values, dict) else None
    if version != FORMAT:
        raise SavedError(f"{path}: format {version!r}, this Dragoman reads {FORMAT}; {REMEDY}")
    try:
        manifest = parse(Manifest, values, path)
    except ConfigError as error:
        raise SavedError(f"{error}; {REMEDY}") from error
    if {MANIFEST, *manifest.files} != FILE_NAMES:
        raise SavedError(f"{path}: does not list the store's files; {REMEDY}")
    return manifest


def known_inputs(directory: Path) -> list[InputFile]:
    """The corpus files recorded in a store; empty without a store."""
    try:
        return read_manifest(directory).inputs
    except SavedError:
        return []


def _map(path: Path, dtype: np.dtype[Scalar]) -> npt.NDArray[Scalar]:
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.zeros(0, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


def _check(path: Path, expected: StoredFile) -> None:
    """Compare a file's size, then its content, with the manifest."""
    try:
        size_bytes = path.stat().st_size
        if size_bytes != expected.size_bytes:
            problem = f"truncated or altered: {size_bytes} bytes, not {expected.size_bytes}"
            raise SavedError(f"{path}: {problem}; {REMEDY}")
        crc32 = 0
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                crc32 = zlib.crc32(block, crc32)
    except OSError as error:
        raise SavedError(f"{path}: missing or unreadable; {REMEDY}") from error
    if crc32 != expected.crc32:
        raise SavedError(f"{path}: altered since it was written; {REMEDY}")
