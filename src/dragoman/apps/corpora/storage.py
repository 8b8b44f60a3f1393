"""Files of corpora on disk: written packed, and held to what their text must be."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dragoman.apps.corpora.manifest import Corpus, CorpusFile
from dragoman.core.config import Config, parse
from dragoman.core.errors import DataError, SavedError
from dragoman.core.files import atomic_write, read_json, write_json
from dragoman.text.lines import open_bytes

RECORD = "found.json"
"""What is written beside files whose text was not known before: the text that they had."""

_CHUNK_BYTES = 2**20


class Text(NamedTuple):
    """What a file says, as far as it can be told in three figures."""

    bytes: int
    lines: int
    sha256: str


class _Found(Config):
    files: dict[str, Text]


def chunks(path: Path) -> Iterator[bytes]:
    """The text of a file, packed or not.

    Raises:
        DataError: it is missing, unreadable, or a damaged archive.
    """
    with open_bytes(path) as stream:
        yield from iter(lambda: stream.read(_CHUNK_BYTES), b"")


def write_text(target: Path, text: Iterable[bytes], file: CorpusFile, origin: str) -> Text:
    """Write a file of a corpus; nothing is written unless its text is what it must be.

    Args:
        target: where it goes.
        text: in chunks.
        file: what it must be.
        origin: what to call the text in messages.

    Raises:
        DataError: its text is another one.
        StorageError: the disk is full, read-only or not permitted.
    """
    # Neither a time nor a name goes into the header, so that the same text gives the same file.
    with (
        atomic_write(target, "wb") as stream,
        gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed,
    ):
        meter = _Meter(file, origin)
        for chunk in text:
            meter.add(chunk)
            packed.write(chunk)
        return meter.verified()


def verify(path: Path, file: CorpusFile, recorded: Text | None = None) -> Text:
    """Hold a file to what its text must be.

    Args:
        path: where it lies.
        file: what it must be.
        recorded: what it was when it was written, if anything says so.

    Raises:
        DataError: it cannot be read, or its text is another one.
    """
    meter = _Meter(file, str(path))
    for chunk in chunks(path):
        meter.add(chunk)
    text = meter.verified()
    if recorded is not None and text != recorded:
        raise DataError(f"{path}: its text is not what it was when it was made, see {RECORD}")
    return text


def recorded_texts(folder: Path) -> dict[str, Text]:
    """What :func:`record_texts` wrote; empty where it wrote nothing.

    Raises:
        SavedError: the record cannot be read.
    """
    path = folder / RECORD
    try:
        return parse(_Found, read_json(path), path).files
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, DataError) as error:
        raise SavedError(f"{path}: cannot be read: {error}; remove it") from error


def record_texts(folder: Path, texts: dict[str, Text]) -> None:
    """Write down what files say, to hold them to it later."""
    write_json(folder / RECORD, {"files": {name: text._asdict() for name, text in texts.items()}})


def missing(corpus: Corpus, folder: Path) -> list[CorpusFile]:
    """The files of a corpus that are not in ``folder``."""
    return [file for file in corpus.files if not (folder / file.path).is_file()]


def check_alignment(texts: dict[str, Text], corpus: Corpus) -> None:
    """Refuse files of one stem that are not equally long.

    Raises:
        DataError: two are not.
    """
    first: dict[str, str] = {}
    for file in corpus.files:
        other = first.setdefault(file.aligned_with, file.path)
        if texts[file.path].lines != texts[other].lines:
            raise DataError(
                f"{file.path} has {texts[file.path].lines:,} lines and {other} "
                f"{texts[other].lines:,}; they must be aligned line by line"
            )


class _Meter:
    """Size, lines and digest of text that goes by."""

    def __init__(self, file: CorpusFile, origin: str) -> None:
        self._file = file
        self._origin = origin
        self._digest = hashlib.sha256()
        self._bytes = self._lines = 0

    def add(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._bytes += len(chunk)
        self._lines += chunk.count(b"\n")
        if self._file.bytes is not None and self._bytes > self._file.bytes:
            raise self._other(f"it has more than the {self._file.bytes:,} bytes")

    def verified(self) -> Text:
        found = Text(self._bytes, self._lines, self._digest.hexdigest())
        if self._file.sha256 not in {None, found.sha256}:
            raise self._other(f"its SHA-256 is {found.sha256} and not {self._file.sha256}")
        return found

    def _other(self, problem: str) -> DataError:
        return DataError(
            f"{self._origin}: its text is not that of {self._file.path}: {problem} of the corpus; "
            "it is another version or damaged"
        )
