"""Reading and writing lines of text: (de)compressed, strictly UTF-8, in constant memory."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from dragoman.core.errors import DataError
from dragoman.core.files import atomic_write
from dragoman.core.zstandard import zstd
from dragoman.text.public_corpora import remedy

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_FEWEST_NULS = 4  # NULs, in every second byte of a line, that are no accident
_CHUNK_BYTES = 2**17
_LARGEST_WINDOW = 31  # log2 of bytes: what zstd --ultra --long=31 writes, and no file exceeds
# A longer line is not text, and is rejected without being held in memory.
_LONGEST_LINE = 2**26  # bytes

# How compressed files begin.  None of this is valid UTF-8, so no text is mistaken for them.
_SIGNS = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
_LONGEST_SIGN = max(map(len, _SIGNS.values()))
# Unsupported compressions.  Text may begin like this: it only explains why a line is not UTF-8.
_OTHER_SIGNS = {"a bzip2 file": b"BZh", "a ZIP archive": b"PK\x03\x04"}
# Without name and timestamp, so that the same text is compressed to the same bytes.
_COMPRESSORS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile("", "wb", fileobj=file, mtime=0),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
    ".zst": lambda file: zstd.ZstdFile(file, "wb"),
}

COMPRESSIONS = tuple(_SIGNS)
"""Suffixes of compressed files."""


def read_lines(path: Path | str) -> Iterator[str]:
    """Lines of a file, without their ends, decompressed if it is a gzip, xz or zstd file.

    :func:`decode_lines` defines a line.

    Raises:
        DataError: the file is missing, unreadable, empty, a damaged archive, or not UTF-8.
    """
    with open_bytes(path) as stream:
        empty = True
        for line in decode_lines(stream, str(path)):
            empty = False
            yield line
    if empty:
        raise DataError(f"{path}: the file is empty; give one with at least one line")


def decode_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """Lines of a binary stream, as they come.

    Only LF ends a line, and a CR before it is dropped. U+2028, U+0085, VT and FF are ordinary
    characters of a line.  A byte order mark at the start is dropped.

    Raises:
        DataError: a line is not UTF-8 (the message has its line and byte, both from 1) or too long
            to be text, or all bytes of the first line are UTF-16.
    """
    for number, raw in enumerate(iter(partial(stream.readline, _LONGEST_LINE + 1), b""), 1):
        if len(raw) > _LONGEST_LINE:
            raise DataError(f"{name}:{number}: a line of over {_LONGEST_LINE:,} bytes; not a text")
        if number == 1 and raw.startswith(_BYTE_ORDER_MARK):
            raw = raw[len(_BYTE_ORDER_MARK) :]  # noqa: PLW2901
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(_not_utf8(raw, name, number, error.start)) from error
        if number == 1 and (encoding := _utf16_of(raw)) is not None:
            raise DataError(f"{name}: {encoding}, not UTF-8; convert the file: {_iconv(encoding)}")
        if line.endswith("\r\n"):
            yield line[:-2]
        elif line.endswith("\n"):
            yield line[:-1]
        else:
            yield line


@contextmanager
def open_bytes(path: Path | str) -> Iterator[BinaryIO]:
    """Opens a file for reading bytes, decompressing it if its first bytes show a compression.

    Raises:
        DataError: here or while reading: missing, unreadable, a truncated or corrupt archive, or
            not compressed although the suffix says so.
    """
    try:
        with Path(path).open("rb") as file, _decompressed(Path(path), file) as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; {remedy(Path(path))}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zstd.ZstdError) as error:
        raise DataError(
            f"{path}: the archive is truncated or corrupt; copy or compress it again"
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def stream_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """Lines of a stream that is already open, such as standard input.

    :func:`decode_lines` defines a line.

    Raises:
        DataError: it cannot be read.
    """
    try:
        yield from decode_lines(stream, name)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from error


@contextmanager
def write_text(path: Path) -> Iterator[IO[str]]:
    """Opens a text file that appears when the block ends, compressed if its suffix says so.

    Raises:
        DataError: in the block: the text has half of a surrogate pair, which UTF-8 cannot hold.
        StorageError: the disk is full, read-only or not permitted.
    """
    compressed = _COMPRESSORS.get(path.suffix)
    try:
        if compressed is None:
            with atomic_write(path) as stream:
                yield stream
        else:
            with (
                atomic_write(path, "wb") as file,
                io.TextIOWrapper(compressed(file), encoding="utf-8", newline="\n") as stream,
            ):
                yield stream
    except UnicodeEncodeError as error:
        raise DataError(
            f"{path}: half of a surrogate pair (\\ud800 to \\udfff) cannot be written; correct "
            f"{error.object[: error.end][-40:]!r}"
        ) from error


def line_problem(text: str, *, first: bool = False) -> str | None:
    """Why :func:`decode_lines` would change ``text`` or split it; None if it would not."""
    if "\n" in text or text.endswith("\r"):
        return "a line break"
    return "a byte order mark in front" if first and text.startswith("\ufeff") else None


def _decompressed(path: Path, file: io.BufferedReader) -> BinaryIO:
    """The content of a file, decompressed if its first bytes, or else its suffix, require it."""
    start = file.peek(_LONGEST_SIGN)[:_LONGEST_SIGN]
    kind = next((kind for kind, sign in _SIGNS.items() if start.startswith(sign)), None)
    if kind is None and path.suffix in _SIGNS:
        kind = path.suffix
        # Too short to be recognised: it is truncated.
        if not (_SIGNS[kind].startswith(start) or _is_skippable(start)):
            raise DataError(
                f"{path}: not compressed as its suffix {kind} says; rename it or compress it"
            )
    if kind == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if kind == ".xz":
        return io.BufferedReader(_CompressedFile(file, _xz_stream, padding=b"\0"), _CHUNK_BYTES)
    if kind == ".zst":
        return io.BufferedReader(_CompressedFile(file, _zstandard_frame), _CHUNK_BYTES)
    return file


def _is_skippable(start: bytes) -> bool:
    """Whether this begins a Zstandard frame without content, which may precede the others."""
    return start[1:4] == b"\x2a\x4d\x18"


def _not_utf8(raw: bytes, name: str, number: int, position: int) -> str:
    if number == 1 and any(raw.startswith(sign) for sign in _SIGNS.values()):
        return f"{name}: compressed; decompress it on the way, with zcat, xzcat or zstdcat"
    others = (kind for kind, sign in _OTHER_SIGNS.items() if number == 1 and raw.startswith(sign))
    if (other := next(others, None)) is not None:
        return f"{name}: {other}, not text; unpack it, or pack its text with gzip, xz or zstd"
    if number == 1 and raw.startswith(_UTF16_MARKS):
        encoding = "UTF-16"
    else:  # without a mark: the encoding that Windows calls Unicode
        encoding = "UTF-16LE" if b"\0" in raw else "ISO-8859-1"
    return (
        f"{name}:{number}: not UTF-8 at byte {position + 1} of the line (0x{raw[position]:02X}); "
        f"convert the file, for example if it is {encoding}: {_iconv(encoding)}"
    )


def _utf16_of(raw: bytes) -> str | None:
    """The kind of UTF-16 of a first line of plain letters without a mark; None if it is not UTF-16.

    Such bytes are also valid UTF-8, with NUL as every second one.
    """
    even, odd = raw[::2], raw[1::2]
    for encoding, high, low in (("UTF-16LE", odd, even), ("UTF-16BE", even, odd)):
        if len(high) >= _FEWEST_NULS and not any(high) and 0 not in low:
            return encoding
    return None


def _iconv(encoding: str) -> str:
    return f"iconv -f {encoding} -t UTF-8"


def _xz_stream() -> Any:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


def _zstandard_frame() -> Any:
    options = {int(zstd.DecompressionParameter.window_log_max): _LARGEST_WINDOW}
    return zstd.ZstdDecompressor(options=options)


class _CompressedFile(io.RawIOBase):
    """Decompressed bytes of a file of one or more xz streams or Zstandard frames.

    The stream readers of the two packages mistake some damaged files for short ones. Zstandard's
    does so with a truncated file, xz's with a file whose second stream is damaged.

    Args:
        start: makes a decompressor of one stream or frame.
        padding: bytes that may be between streams, and behind the last.
    """

    def __init__(self, file: BinaryIO, start: Callable[[], Any], padding: bytes = b"") -> None:
        self._file, self._start, self._padding = file, start, padding
        self._stream = start()
        self._started = False  # whether the current stream has received any bytes

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        found = b""
        while not found:
            compressed = b""
            if self._stream.eof or self._stream.needs_input:
                compressed = self._compressed()
                if not compressed:
                    if self._started:
                        raise EOFError("the compressed file ends too early")
                    return 0
                self._started = True
            # A few bytes may stand for much text, which must not fill the memory.
            found = self._stream.decompress(compressed, len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def _compressed(self) -> bytes:
        """The next bytes to decompress, the first of a new stream if one has ended."""
        found = b""
        if self._stream.eof:
            found = self._stream.unused_data.lstrip(self._padding)
            self._stream, self._started = self._start(), False
        while not found and (read := self._file.read(_CHUNK_BYTES)):
            found = read if self._started else read.lstrip(self._padding)
        return found


def file_stamp(path: str) -> tuple[int, int] | None:
    """Time of last change and size, by which a cache notices changes; None without the file."""
    try:
        status = Path(path).stat()
    except OSError:
        return None  # reading it reports the error
    return status.st_mtime_ns, status.st_size


def language_of_file(path: Path) -> str | None:
    """The language suffix of a plain file, such as ``de`` of ``train.de.gz``, or None."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return plain.suffix[1:] or None
