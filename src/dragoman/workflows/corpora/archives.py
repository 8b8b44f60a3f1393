"""Files in archives, read as streams: nothing is unpacked to paths that an archive names."""

from __future__ import annotations

import gzip
import html
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dragoman.core.errors import DataError
from dragoman.text.corpora.corpus_manifest import Part

_CHUNK_BYTES = 2**20
# Eight times the largest member of WMT 2014, a side of the 10^9 corpus.
_LARGEST_MEMBER = 2**35  # bytes
_LARGEST_TEST_SET = 2**24  # bytes; held in memory
_SEGMENT = re.compile(rb"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)


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
            yield b"".join(_segments(content.read()))
            return
        with gzip.open(content) if member.endswith(".gz") else content as stream:
            yield from iter(lambda: stream.read(_CHUNK_BYTES), b"")
        return
    raise DataError(f"{archive}: contains no {member}; is it another archive?")


def _segments(text: bytes) -> Iterator[bytes]:
    """The segments of a test set in the SGML of the WMT tasks, as lines."""
    for segment in _SEGMENT.findall(text):
        yield " ".join(html.unescape(segment.decode("utf-8")).split()).encode() + b"\n"
