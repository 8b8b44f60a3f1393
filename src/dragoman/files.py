"""Writing so that a reader never sees half a file, whatever happens in between.

A file or directory is made under a temporary name beside its target, flushed to the disk and
renamed, which is atomic within one file system.  A crash leaves the old version or none.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dragoman.errors import StorageError

_REFUSALS = {
    errno.ENOSPC: "the disk is full; free some space and repeat the command",
    errno.EDQUOT: "the disk quota is used up; free some space and repeat the command",
    errno.EFBIG: "the file would be larger than is allowed; raise the limit (ulimit -f)",
    errno.EIO: "the disk reports an error; choose another disk",
    errno.ENOENT: "no directory can be made there; choose another path",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.EACCES: "permission denied; choose another directory or change its permissions",
    errno.EPERM: "not permitted; choose another directory or change its permissions",
    errno.ENOTDIR: "a file stands where a directory should; choose another path",
    errno.EEXIST: "a file stands where a directory should; choose another path",
    errno.EISDIR: "a directory stands where the file should; choose another path",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter path",
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
        temporary = _beside(path)
        try:
            with temporary.open(mode.replace("w", "x"), **text) as stream:  # type: ignore[call-overload]
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
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
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "a file, not a directory", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _beside(path)
        try:
            temporary.mkdir()
            yield temporary
            _flush_tree(temporary)
            _replace_directory(temporary, path)
            _flush_directory(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: Path | str, value: Any) -> None:
    """Write ``value`` as readable JSON, atomically."""
    with atomic_write(path) as stream:
        json.dump(value, stream, ensure_ascii=False, indent=2)
        stream.write("\n")


def _beside(path: Path) -> Path:
    """A hidden name in the same directory, that nothing has yet.

    Made here and not by ``tempfile``, whose files deny others what the umask would grant.
    """
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def _replace_directory(new: Path, path: Path) -> None:
    """Rename ``new`` to ``path``; what was there goes away, or comes back if that fails."""
    if not path.exists():
        os.replace(new, path)
        return
    old = _beside(path)  # rename(2) does not replace a directory that has content
    os.replace(path, old)
    try:
        os.replace(new, path)
    except OSError:
        os.replace(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _flush_tree(directory: Path) -> None:
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "rb") as stream:
                os.fsync(stream.fileno())
        _flush_directory(Path(folder))


def _flush_directory(path: Path) -> None:
    """Make a rename durable; some file systems cannot flush a directory, which is no error."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
