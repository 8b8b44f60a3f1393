"""Writing so that a reader never sees half a file, whatever happens in between.

A file or directory is made under a temporary name beside its target, flushed to the disk and
renamed, which is atomic within one file system.  A crash leaves the old version or none.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dragoman.errors import StorageError

_REFUSALS = {
    errno.ENOSPC: "the disk is full; free some space and repeat the command",
    errno.EDQUOT: "the disk quota is used up; free some space and repeat the command",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.EACCES: "permission denied; choose another directory or change its permissions",
    errno.EPERM: "not permitted; choose another directory or change its permissions",
    errno.ENOTDIR: "part of the path is a file, not a directory; choose another path",
}


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals to write at ``path`` into :class:`StorageError`."""
    try:
        yield
    except OSError as error:
        remedy = _REFUSALS.get(error.errno or 0)
        if remedy is None:
            raise
        raise StorageError(f"cannot write {path}: {remedy}") from error


@contextmanager
def atomic_write(path: Path | str, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file for writing that becomes ``path`` when the block ends well.

    Text is UTF-8 with ``\\n`` line ends.  If the block raises, ``path`` keeps its old content.

    Raises:
        StorageError: the disk is full, read-only or not permitted.
    """
    path = Path(path)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, mode, **text) as stream:  # type: ignore[call-overload]
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
            _flush_directory(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path | str) -> Iterator[Path]:
    """Give an empty directory to fill, which becomes ``path`` when the block ends well.

    An existing directory at ``path`` is replaced.  If the block raises, it stays as it was.

    Raises:
        StorageError: the disk is full, read-only or not permitted.
    """
    path = Path(path)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            yield temporary
            os.chmod(temporary, 0o777 & ~_umask())
            for file in temporary.rglob("*"):
                if file.is_file():
                    with file.open("rb") as stream:
                        os.fsync(stream.fileno())
            if path.exists():  # rename(2) does not replace a directory that has content
                old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
                os.replace(path, old / path.name)
                os.replace(temporary, path)
                shutil.rmtree(old, ignore_errors=True)
            else:
                os.replace(temporary, path)
            _flush_directory(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: Path | str, value: Any) -> None:
    """Write ``value`` as readable JSON, atomically."""
    with atomic_write(path) as stream:
        json.dump(value, stream, ensure_ascii=False, indent=2)
        stream.write("\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _flush_directory(path: Path) -> None:
    """Make a rename durable; some file systems cannot flush a directory, which is no error."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
