"""The content of shards: rows of plain values, and arrays that can be read separately."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dragoman.core.shard_files import ShardFiles
from dragoman.core.zstandard import zstd

Array = npt.NDArray[Any]

ROWS_SUFFIX = ".json.zst"
ARRAYS_SUFFIX = ".bin"

_LEVEL = 1  # compression level: text shrinks to a third, and nothing waits for it
# End of an array in the content behind the heading, and its CRC-32.
_HEADING = np.dtype([("stop", "<i8"), ("crc32", "<i8")])


def pack_rows(rows: Sequence[Any]) -> bytes:
    """Compress rows of strings, numbers and lists; all strings survive, even lone surrogates."""
    text = json.dumps(rows, separators=(",", ":"))
    return zstd.compress(text.encode("ascii"), level=_LEVEL)


def unpack_rows(content: bytes) -> list[Any]:
    """The rows given to :func:`pack_rows`."""
    found: list[Any] = json.loads(zstd.decompress(content))
    return found


def pack_arrays(arrays: Iterable[Array]) -> bytes:
    """Put arrays one after another, behind a heading with the end and checksum of each."""
    contents = [array.tobytes() for array in arrays]
    heading = np.zeros(len(contents), dtype=_HEADING)
    heading["stop"] = np.cumsum([len(content) for content in contents])
    heading["crc32"] = [zlib.crc32(content) for content in contents]
    return b"".join([heading.tobytes(), *contents])


def unpack_arrays(content: bytes, dtypes: Sequence[npt.DTypeLike]) -> list[Array]:
    """All arrays of :func:`pack_arrays`, whose content has been checked as a whole."""
    size = len(dtypes) * _HEADING.itemsize
    stops = size + np.frombuffer(content[:size], dtype=_HEADING)["stop"]
    starts = [size, *stops[:-1]]
    return [
        np.frombuffer(content[start:stop], dtype=dtype)
        for start, stop, dtype in zip(starts, stops, dtypes, strict=True)
    ]


def read_array(
    files: ShardFiles, shard: int, place: int, count: int, dtype: npt.DTypeLike
) -> Array:
    """One of the ``count`` arrays of a shard, without reading the others.

    Raises:
        SavedError: it is missing or altered.
    """
    size, first = count * _HEADING.itemsize, max(0, place - 1)
    try:
        with files.path(shard).open("rb") as stream:
            stream.seek(first * _HEADING.itemsize)
            heading = np.frombuffer(
                stream.read((place - first + 1) * _HEADING.itemsize), dtype=_HEADING
            )
            start = int(heading["stop"][0]) if place else 0
            stream.seek(size + start)
            content = stream.read(int(heading["stop"][-1]) - start)
        whole = zlib.crc32(content) == heading["crc32"][-1]
    except (OSError, IndexError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise files.damage(shard)
    return np.frombuffer(content, dtype=dtype)
