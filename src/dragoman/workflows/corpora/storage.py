"""Files of corpora: read from archives as streams, written compressed, and checked.

Nothing is unpacked to paths that an archive names.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from dragoman.core.config import Config, parse
from dragoman.core.errors import DataError, SavedError, StorageError
from dragoman.core.files import atomic_write, read_json, storage_errors, write_json
from dragoman.text.corpora.corpus_manifest import Corpus, CorpusFile, Part
from dragoman.text.formats.sgm import segments
from dragoman.text.lines import open_bytes

RECORD = "found.json"
"""Written beside files whose digests were not known beforehand, to record those of their text."""

_CHUNK_BYTES = 2**20


class Text(NamedTuple):
    """Three figures that identify the text of a file."""

    bytes: int
    lines: int
    sha256: str


class _Found(Config):
    files: dict[str, Text]


def chunks(path: Path) -> Iterator[bytes]:
    """The text of a file, compressed or not, in chunks."""
    with open_bytes(path) as stream:
        yield from iter(lambda: stream.read(_CHUNK_BYTES), b"")


def check_room(folder: Path, needed: int) -> None:
    """Refuse to begin if a folder, which exists, has less room than the bytes needed.

    Raises:
        StorageError: with both figures.
    """
    with storage_errors(folder):
        free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageError(
            f"{folder}: {free / 1e6:,.1f} MB are free and {needed / 1e6:,.1f} MB needed; "
            "free some space or name another folder in DRAGOMAN_CORPORA"
        )


def write_text(target: Path, text: Iterable[bytes], file: CorpusFile, origin: str) -> Text:
    """Write a file of a corpus; nothing is written unless its text is the expected one."""
    # The header has neither time nor name, so that the same text gives the same file.
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
    """Check that a file has the expected text.

    Args:
        recorded: description of the text as it was written, if recorded.

    Raises:
        DataError: it cannot be read, or its text is not the expected one.
    """
    meter = _Meter(file, str(path))
    for chunk in chunks(path):
        meter.add(chunk)
    text = meter.verified()
    if recorded is not None and text != recorded:
        raise DataError(f"{path}: its text changed since it was written, see {RECORD}")
    return text


def recorded_texts(folder: Path) -> dict[str, Text]:
    """The record of :func:`record_texts`; empty without a record."""
    path = folder / RECORD
    try:
        return parse(_Found, read_json(path), path).files
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, DataError) as error:
        raise SavedError(f"{path}: cannot be read: {error}; remove it") from error


def record_texts(folder: Path, texts: dict[str, Text]) -> None:
    """Record the text of files, to check them against it later."""
    write_json(folder / RECORD, {"files": {name: text._asdict() for name, text in texts.items()}})


def missing(corpus: Corpus, folder: Path) -> list[CorpusFile]:
    """The files of a corpus that are not in ``folder``."""
    return [file for file in corpus.files if not (folder / file.path).is_file()]


def is_complete(corpus: Corpus, folder: Path) -> bool:
    """Whether all required files are in ``folder``."""
    return not any(file.is_required for file in missing(corpus, folder))


def check_alignment(texts: dict[str, Text], corpus: Corpus) -> None:
    """Refuse files of one stem with different numbers of lines, but for monolingual text."""
    first: dict[str, str] = {}
    for file in (file for file in corpus.files if file.path in texts):
        other = first.setdefault(file.aligned_with, file.path)
        if texts[file.path].lines != texts[other].lines:
            raise DataError(
                f"{file.path} has {texts[file.path].lines:,} lines and {other} "
                f"{texts[other].lines:,}; they must be aligned line by line"
            )


class _Meter:
    """Measures size, lines and digest of text as it passes."""

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
        text = Text(self._bytes, self._lines, self._digest.hexdigest())
        if self._file.sha256 not in {None, text.sha256}:
            raise self._other(f"its SHA-256 is {text.sha256}, not {self._file.sha256}")
        return text

    def _other(self, problem: str) -> DataError:
        return DataError(
            f"{self._origin}: its text is not that of {self._file.path}: {problem} of the corpus; "
            "it is another version or damaged"
        )


# Eight times the largest member of WMT 2014, a side of the 10^9 corpus.
_LARGEST_MEMBER = 2**35  # bytes


_LARGEST_TEST_SET = 2**24  # bytes; held in memory


class Joined:
    """The concatenated text of several files in archives; iterate once.

    Raises:
        DataError: while iterating: an archive is damaged or lacks the file.
    """

    def __init__(self, parts: Sequence[Part], archives: Mapping[str, Path]) -> None:
        self._parts = parts
        self._archives = archives
        self.lines: list[int] = []
        """Number of lines of each part, once it is read."""

    def __iter__(self) -> Iterator[bytes]:
        """Chunks of text; every part ends with a line end."""
        for part in self._parts:
            self.lines.append(0)
            last = b"\n"
            archive = self._archives[part.archive]
            with damage_told(archive):
                for chunk in _text(archive, part.member):
                    self.lines[-1] += chunk.count(b"\n")
                    last = chunk[-1:]
                    yield chunk
            if last != b"\n":
                self.lines[-1] += 1
                yield b"\n"


def members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, size in bytes and content of each file in a tar archive, compressed or not, in order.

    Iterate and read the content within :func:`damage_told`.
    """
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            if member.isfile() and (content := tar.extractfile(member)) is not None:
                yield member.name, member.size, content


@contextmanager
def damage_told(archive: Path) -> Iterator[None]:
    """Turn errors of reading a damaged archive into :class:`DataError`."""
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise DataError(f"{archive}: the archive is truncated or corrupt: {error}") from error


def _text(archive: Path, member: str) -> Iterator[bytes]:
    for name, size, content in members(archive):
        if name.removeprefix("./") != member:
            continue
        if size > (_LARGEST_TEST_SET if member.endswith(".sgm") else _LARGEST_MEMBER):
            raise DataError(f"{archive}: {member} claims {size:,} bytes; is it another archive?")
        if member.endswith(".sgm"):
            yield "".join(f"{line}\n" for line in segments(content.read().decode())).encode()
            return
        with gzip.open(content) if member.endswith(".gz") else content as stream:
            yield from iter(lambda: stream.read(_CHUNK_BYTES), b"")
        return
    raise DataError(f"{archive}: contains no {member}; is it another archive?")
