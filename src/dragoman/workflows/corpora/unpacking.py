"""Unpacking some files of an archive, to names that we choose, compressed again."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from dragoman.core.errors import DataError
from dragoman.core.files import storage_errors
from dragoman.core.wording import named
from dragoman.core.zstandard import zstd
from dragoman.workflows.corpora.storage import damage_told, members

_LARGEST_MEMBER = 2**37  # bytes
_CHUNK_BYTES = 2**20
_TERMS = re.compile(r"(^|/)(licen[cs]e|copying|readme)[^/]*$", re.IGNORECASE)
_LONGEST_TERMS = 2**16  # bytes


def unpack(archive: Path, patterns: Sequence[str], folder: Path) -> list[Path]:
    """The files of a zip or tar archive that patterns such as ``*.en`` name, in their order.

    They are written to ``folder`` as Zstandard files, whose size is about that of the archive.
    Its licence and its README are written there as well, as text.

    Raises:
        DataError: the archive is damaged, or a pattern does not fit exactly one of its files.
        StorageError: the disk is full.
    """
    found: dict[str, Path] = {}
    names: list[str] = []
    with _damage_told(archive), storage_errors(folder):
        for name, size, content in _members(archive):
            names.append(name)
            fitting = [pattern for pattern in patterns if _fits(name, pattern)]
            if fitting:
                target = folder / f"{len(found)}-{Path(name).name[-80:]}.zst"
                _copy(content, target, size, f"{archive}: {name}")
                for pattern in fitting:
                    if pattern in found:
                        raise _ambiguous(archive, pattern, names)
                    found[pattern] = target
            elif _TERMS.search(name) and size <= _LONGEST_TERMS:
                (folder / Path(name).name).write_bytes(content.read())
    for pattern in patterns:
        if pattern not in found:
            raise DataError(
                f"{archive}: contains no {pattern}; files there: {named(names[:10]) or 'none'}; "
                "the corpus lacks a language, or its archive has changed"
            )
    return [found[pattern] for pattern in patterns]


def _fits(name: str, pattern: str) -> bool:
    plain = name.removeprefix("./")
    return plain == pattern or fnmatchcase(plain, pattern)


def _ambiguous(archive: Path, pattern: str, names: Sequence[str]) -> DataError:
    fitting = [name for name in names if _fits(name, pattern)]
    return DataError(f"{archive}: {pattern} may be {named(fitting)}; its archive has changed")


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, size and content of each file of an archive."""
    if not zipfile.is_zipfile(archive):
        yield from members(archive)
        return
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            if not entry.is_dir():
                with packed.open(entry) as content:
                    yield entry.filename, entry.file_size, content


def _copy(content: IO[bytes], target: Path, size: int, name: str) -> None:
    if size > _LARGEST_MEMBER:
        raise DataError(f"{name} claims {size:,} bytes; is it another archive?")
    with target.open("wb") as raw, zstd.ZstdFile(raw, "wb", level=1) as packed:
        shutil.copyfileobj(content, packed, _CHUNK_BYTES)


@contextmanager
def _damage_told(archive: Path) -> Iterator[None]:
    """Turn errors of reading a damaged archive into :class:`DataError`."""
    try:
        with damage_told(archive):
            yield
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{archive}: the archive is damaged, or encrypted: {error}") from error
