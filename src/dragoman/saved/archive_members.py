"""The files in archives of models, read without trusting them.

The table of contents is checked before anything is read.  Refused are names that lead out of the
archive, links, devices, duplicate files, and more files than any model has.
"""

from __future__ import annotations

import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, cast

from dragoman.core.errors import DataError
from dragoman.core.files import storage_errors
from dragoman.text.lines import open_bytes

ARCHIVES = (".tar.gz", ".tar.zst", ".tar", ".tgz", ".tzst", ".tar.xz", ".zip")
"""Suffixes of readable archives."""
_ZIPS = (".zip", ".argosmodel")  # packages of Argos Translate are zip archives

LARGEST = 2**36  # bytes, unpacked; 64 GiB
_MOST_MEMBERS = 10_000
_MOST_ENDS = 100  # reads at the end that tarfile may try; whole archives need a few

_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError),
    *(NotImplementedError, UnicodeDecodeError),  # a kind of compression, the name of a file
)
"""Errors of unreadable archives; for bzip2, that is an OSError without a number."""


class Member(NamedTuple):
    """A file in an archive."""

    path: PurePosixPath
    size: int
    """In bytes, unpacked."""


def archive_suffix(name: str) -> str | None:
    """The suffix of an archive's name; None for other names."""
    found = [suffix for suffix in ARCHIVES if name.lower().endswith(suffix)]
    return max(found, key=len, default=None)


def _is_zip(archive: Path) -> bool:
    return archive.name.lower().endswith(_ZIPS)


def checked(members: Iterable[Member | str], archive: Path) -> list[Member]:
    """The files of an archive.

    Raises:
        DataError: there is anything else, or too much.
    """
    found: dict[PurePosixPath, Member] = {}
    size = 0
    for member in members:
        if isinstance(member, str):
            raise DataError(f"{archive}: {member}, and a model has none; nothing of it is read")
        if member.path.is_absolute() or ".." in member.path.parts or "\\" in str(member.path):
            raise DataError(
                f"{archive}: {str(member.path)!r:.200} leads out of the archive; nothing "
                "of it is read"
            )
        if member.path in found:
            raise DataError(f"{archive}: {member.path} is in it twice; nothing of it is read")
        found[member.path] = member
        size += member.size
        if size > LARGEST or len(found) > _MOST_MEMBERS:
            raise DataError(
                f"{archive}: more than {_MOST_MEMBERS:,} files or {LARGEST / 2**30:,.0f} GiB; is "
                "it a model?"
            )
    return list(found.values())


def check_room(archive: Path, folder: Path, needed: int) -> None:
    """Refuse early an archive that does not fit on the disk."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        with storage_errors(folder):
            raise OSError(28, f"{archive} needs {needed / 1e6:,.0f} MB")  # ENOSPC


def members_of(archive: Path) -> Iterator[Member | str]:
    """The files of an archive; for a member that is neither file nor folder, a description."""
    if _is_zip(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if not info.filename:
                    raise zipfile.BadZipFile("a file in it has no name")
                kind = stat.S_IFMT(info.external_attr >> 16)
                if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                    yield f"{info.filename!r:.200} is a link or a device"
                elif not info.is_dir():
                    yield Member(PurePosixPath(info.filename), info.file_size)
        return
    with _opened_tar(archive) as tar:
        for member in tar:
            if member.isfile():
                yield Member(PurePosixPath(member.name), member.size)
            elif not member.isdir():
                yield f"{member.name!r:.200} is a link or a device"


def contents_of(archive: Path) -> Iterator[tuple[PurePosixPath, IO[bytes]]]:
    """The files of an archive that was checked, each with its content."""
    if _is_zip(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if not info.is_dir():
                    with _opened(packed, info) as file:
                        yield PurePosixPath(info.filename), file
        return
    with _opened_tar(archive) as tar:
        for member in tar:
            if member.isfile() and (content := tar.extractfile(member)) is not None:
                yield PurePosixPath(member.name), content


class _Ending:
    """A stream that ends tarfile's reading where the file is shorter than its header states."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._ends = stream, 0

    def read(self, size: int) -> bytes:
        """The next bytes; raises EOFError after repeated reads at the end."""
        found = self._stream.read(size)
        self._ends += not found
        if self._ends > _MOST_ENDS:
            raise EOFError("it ends within a file")
        return found


@contextmanager
def _opened_tar(archive: Path) -> Iterator[tarfile.TarFile]:
    with (
        open_bytes(archive) as stream,
        tarfile.open(fileobj=cast("IO[bytes]", _Ending(stream)), mode="r|") as tar,
    ):
        yield tar


def _opened(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """An opened file in a zip archive, whose directory may give any position for it.

    Raises:
        zipfile.BadZipFile: damaged, or the position does not exist (an OSError of zipfile).
    """
    try:
        return packed.open(info)
    except OSError as error:
        raise zipfile.BadZipFile(f"{info.filename!r:.200} is outside of the archive") from error


@contextmanager
def reading(archive: Path) -> Iterator[None]:
    """Turn errors of reading a damaged archive into :class:`DataError`."""
    try:
        yield
    except (*_DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the operating system
            raise
        raise DataError(f"{archive}: no archive, or truncated or corrupt: {error}") from error
    except RuntimeError as error:  # of zipfile, where a password is needed
        raise DataError(f"{archive}: cannot be read: {error}") from error
