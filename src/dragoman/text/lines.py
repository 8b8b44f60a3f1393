"""Lines of text from files and streams: decompressed, strictly UTF-8, in constant memory."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from dragoman.errors import DataError

COMPRESSIONS = (".gz", ".xz", ".zst")

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CHUNK_BYTES = 2**17


def read_lines(path: Path | str) -> Iterator[str]:
    """Lines of a file, without their ends; ``.gz``, ``.xz`` and ``.zst`` are decompressed.

    See :func:`decode_lines` for what a line is.

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

    Only LF ends a line, and a CR before it goes too; U+2028, U+0085, VT and FF are characters
    of a line like others.  A byte order mark at the start is dropped.

    Args:
        stream: what to read.
        name: what to call it in messages.

    Raises:
        DataError: a line is not UTF-8; the message names the line and byte (both from 1).
    """
    for number, raw in enumerate(stream, 1):
        if number == 1 and raw.startswith(_BYTE_ORDER_MARK):
            raw = raw[len(_BYTE_ORDER_MARK) :]  # noqa: PLW2901
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(_not_utf8(raw, name, number, error.start)) from error
        if line.endswith("\r\n"):
            yield line[:-2]
        elif line.endswith("\n"):
            yield line[:-1]
        else:
            yield line


@contextmanager
def open_bytes(path: Path | str) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressing by its suffix.

    Raises:
        DataError: here or while reading: missing, unreadable, or a truncated or corrupt archive.
    """
    try:
        with _open(Path(path)) as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; check the path in the configuration") from error
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError) as error:
        raise DataError(
            f"{path}: the archive is truncated or corrupt; copy or compress it again"
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if path.suffix == ".xz":
        return cast(BinaryIO, lzma.open(path, "rb"))
    if path.suffix == ".zst":
        return io.BufferedReader(_ZstandardFile(path.open("rb")), _CHUNK_BYTES)
    return path.open("rb")


def _not_utf8(raw: bytes, name: str, number: int, position: int) -> str:
    encoding = "UTF-16" if number == 1 and raw.startswith(_UTF16_MARKS) else "ISO-8859-1"
    return (
        f"{name}:{number}: not UTF-8 at byte {position + 1} of the line (0x{raw[position]:02X}); "
        f"convert the file, for example if it is {encoding}: iconv -f {encoding} -t UTF-8"
    )


class _ZstandardFile(io.RawIOBase):
    """Decompressed bytes of a Zstandard file of one or more frames.

    The package's own stream reader takes a truncated file for a short one.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._started = False  # whether the present frame has been given any bytes
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            compressed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
                self._started = False
            compressed = compressed or self._file.read(_CHUNK_BYTES)
            if not compressed:
                if self._started:
                    raise EOFError("Zstandard frame ends too early")
                return 0
            self._started = True
            self._ready = memoryview(self._frame.decompress(compressed))
        taken = self._ready[: len(buffer)]
        self._ready = self._ready[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)
