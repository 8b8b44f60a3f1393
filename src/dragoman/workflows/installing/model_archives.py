"""Archives of models: written reproducibly, and read without trusting them.

Nothing is unpacked to a path that an archive names: only files that a model has are written, under
the names that they have in every model.
"""

from __future__ import annotations

import gzip
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.files import atomic_write, content_digest, storage_errors
from dragoman.core.zstandard import zstd
from dragoman.saved.archive_members import (
    Member,
    archive_suffix,
    check_room,
    checked,
    contents_of,
    members_of,
    reading,
)
from dragoman.saved.model import CONFIG_FILE, MODEL_FILES
from dragoman.saved.weights import WEIGHTS_FILE

PACKED = (".tar.gz", ".tar.zst", ".tar")
"""Suffixes of archives that can be written."""
DIGEST_SUFFIX = ".sha256"

_CHUNK_BYTES = 2**20
_DIGEST_BYTES = 64
_DIGEST = re.compile(rb"[0-9a-f]{64}")

Advance = Callable[[int], object]
"""Called with the number of bytes done."""


def pack(model: Path, archive: Path, advance: Advance) -> str:
    """Write the files of a model directory into an archive, and its digest beside it.

    The same files give the same archive.

    Args:
        archive: the file to write; its suffix, one of ``PACKED``, selects the format.

    Returns:
        The SHA-256 of the archive.

    Raises:
        ConfigError: the suffix is another, or a file that is not an archive of a model would be
            replaced.
    """
    suffix = archive_suffix(archive.name)
    if suffix not in PACKED:
        raise ConfigError(f"{archive}: name an archive that ends in {', '.join(PACKED)}")
    beside = archive.with_name(archive.name + DIGEST_SUFFIX)
    _check_replaceable(archive, beside)
    top = archive.name[: -len(suffix)]
    with atomic_write(archive, "wb") as stream:
        with (
            _compressed(stream, suffix) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            for path in _files_of(model):
                info = tarfile.TarInfo(f"{top}/{path.relative_to(model).as_posix()}")
                info.size, info.mode = path.stat().st_size, 0o644
                with path.open("rb") as content:
                    tar.addfile(info, content)
                advance(info.size)
        with storage_errors(beside):
            beside.unlink(missing_ok=True)  # never a digest of another archive
    digest = content_digest(archive)
    with atomic_write(beside) as stream:
        stream.write(f"{digest}  {archive.name}\n")  # as sha256sum writes and checks
    return digest


def _check_replaceable(archive: Path, beside: Path) -> None:
    """Refuse to replace files that are neither an archive of a model nor a digest."""
    if archive.is_file() and not _is_packed_model(archive):
        raise _lost(archive, "archive of a model")
    if beside.is_file() and not _is_digest(beside):
        raise _lost(beside, "digest of an archive")


def _is_packed_model(archive: Path) -> bool:
    try:
        with reading(archive):
            _model_in(checked(members_of(archive), archive), archive)
    except (DataError, OSError):
        return False
    return True


def _is_digest(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return bool(_DIGEST.match(stream.read(_DIGEST_BYTES)))
    except OSError:
        return False


def _lost(path: Path, kind: str) -> ConfigError:
    return ConfigError(f"{path}: this file is no {kind}, and would be lost; name another archive")


def _files_of(model: Path) -> list[Path]:
    """The files of a model, sorted; other files of its directory are left out."""
    named = (model / name for name in MODEL_FILES)
    return sorted(
        path
        for place in named
        for path in (place.rglob("*") if place.is_dir() else [place])
        if path.is_file()
    )


@contextmanager
def _compressed(stream: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """A stream that is written compressed, fast: weights hardly get smaller."""
    if suffix == ".tar.gz":
        # Without name and time, so that the same files give the same archive.
        with gzip.GzipFile("", "wb", 6, fileobj=stream, mtime=0) as packed:
            yield packed  # type: ignore[misc]
    elif suffix == ".tar.zst":
        with zstd.ZstdFile(stream, "wb", level=6) as packed:
            yield packed  # type: ignore[misc]
    else:
        yield stream


def unpack(archive: Path, folder: Path, advance: Advance) -> list[str]:
    """Write the model in an archive into an empty folder.

    Returns:
        Files beside those of the model, which were left out.
    """
    with reading(archive):
        members = checked(members_of(archive), archive)
        top = _model_in(members, archive)
        needed = sum(member.size for member in members if _place(member.path, top))
        check_room(archive, folder, needed)
        for member, content in contents_of(archive):
            place = _place(member, top)
            if place is None:
                continue
            target = folder / place
            with storage_errors(target):
                target.parent.mkdir(exist_ok=True, parents=True)
                with target.open("xb") as stream:
                    while chunk := content.read(_CHUNK_BYTES):
                        stream.write(chunk)
                        advance(len(chunk))
    return [str(member.path) for member in members if _place(member.path, top) is None]


def _place(path: PurePosixPath, top: PurePosixPath) -> str | None:
    """The name of an archive's file in a model directory; None if it is not a model's file."""
    try:
        inner = path.relative_to(top)
    except ValueError:
        return None
    return str(inner) if inner.parts and inner.parts[0] in MODEL_FILES else None


def _model_in(members: Iterable[Member], archive: Path) -> PurePosixPath:
    """The folder of the only model in an archive."""
    paths = {member.path for member in members}
    tops = sorted(
        path.parent
        for path in paths
        if path.name == WEIGHTS_FILE and path.parent / CONFIG_FILE in paths
    )
    if not tops:
        raise DataError(
            f"{archive}: has no model ({CONFIG_FILE} and {WEIGHTS_FILE} in one folder); pack one "
            "with 'dragoman pack MODEL'"
        )
    if len(tops) > 1:
        names = ", ".join(str(top) for top in tops[:5])
        raise DataError(f"{archive}: has {len(tops)} models ({names}); pack each by itself")
    return tops[0]
