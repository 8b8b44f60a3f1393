"""Atomic writing: a reader never sees a partial file.

A file or directory is made under a temporary name beside its target, flushed to the disk and
renamed, which is atomic within one file system.  A crash leaves the old version or none.

Temporary files of a killed process are removed by the next process that writes to the same
target, or by :func:`sweep`.  A temporary file is locked while its writer lives, which protects it
from this removal.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dragoman.core.errors import StorageError
from dragoman.core.locks import lock, lost_directory

_DIGESTED_BYTES = 2**20  # at once

# Names that _beside makes; ".old" is a directory being replaced: the last version, complete.
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}(?P<old>\.old)?", re.DOTALL)

_REFUSALS = {
    errno.ENOSPC: "the disk is full; free some space and repeat the command",
    errno.EDQUOT: "the disk quota is used up; free some space and repeat the command",
    errno.EFBIG: "the file would be larger than is allowed; raise the limit (ulimit -f)",
    errno.EIO: "the disk reports an error; choose another disk",
    errno.ESTALE: "the network file system was taken away; mount it again and repeat the command",
    errno.ETIMEDOUT: "the file system does not answer; repeat the command when it does",
    errno.ENODEV: "the device is gone; attach it again and repeat the command",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.EACCES: "permission denied; choose another directory or change its permissions",
    errno.EPERM: "not permitted; choose another directory or change its permissions",
    errno.ENOTDIR: "a file is where a directory should be; choose another path",
    errno.EEXIST: "a file is where a directory should be; choose another path",
    errno.EISDIR: "a directory is where the file should be; choose another path",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter path",
    errno.ELOOP: "its symbolic links lead in a circle; choose another path",
}


_OF_ONE_PATH = {
    *(errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST),
    *(errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP),
}


def is_of_one_path(error: StorageError) -> bool:
    """Whether the error concerns one path only, unlike a full disk."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in _OF_ONE_PATH


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
    """Open a temporary file for writing that becomes ``path`` when the block succeeds.

    Text is UTF-8 with ``\\n`` line ends.  If the block raises, ``path`` keeps its old content.
    A device or a pipe cannot be replaced and is written to directly.  The target of a name such as
    ``/dev/stdout`` is appended to; any other link is replaced.  An existing file keeps its
    permissions.
    """
    path = Path(path)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    with storage_errors(path):
        if path.is_dir():  # which may have no name to write beside, like "." and "/"
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and (not path.is_file() or _is_of_a_process(path)):
            if path.is_file():  # its beginning is another's, as in "--output /dev/stdout >> file"
                mode = mode.replace("w", "a")
            with path.open(mode, **text) as stream:  # type: ignore[call-overload]
                yield stream
            return
        _check_in_place(path)
        make_directory(path.parent, path)
        with _temporary(path, lambda new: new.touch(exist_ok=False)) as temporary:
            with temporary.open(mode, **text) as stream:  # type: ignore[call-overload]
                if path.exists():  # before anything can be read there
                    temporary.chmod(stat.S_IMODE(path.stat().st_mode))
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            with _place_kept(path):
                durable_replace(temporary, path)


def _is_of_a_process(path: Path) -> bool:
    """Whether the name denotes an open file of this process: /dev/stdout, /dev/fd/1 and others."""
    return path.is_symlink() and path.absolute().parts[1:2] in (("dev",), ("proc",))


@contextmanager
def atomic_directory(path: Path | str, ours: Collection[str] = ()) -> Iterator[Path]:
    """Provide an empty directory that becomes ``path`` when the block succeeds.

    An existing directory at ``path`` is replaced, provided that it holds only ``ours``.
    If the block raises, it stays unchanged.

    Args:
        path: the directory; if it is a symbolic link, its target is replaced.
        ours: names of files and directories that an earlier call may have left there.
    """
    path = Path(path)
    with storage_errors(path):
        check_replaceable(path, ours)
        if path.is_symlink():
            path = path.resolve()
        _check_in_place(path)
        make_directory(path.parent, path)
        with _temporary(path, Path.mkdir) as temporary:
            yield temporary
            _flush_tree(temporary)
            with _place_kept(path):
                _replace_directory(temporary, path)


def check_replaceable(path: Path, ours: Collection[str]) -> None:
    """Refuse to replace a directory that holds files other than ``ours``.

    Raises:
        StorageError: the directory holds foreign files, or the path is something else.
    """
    with storage_errors(path):
        if not path.exists():
            return
        names = {name for name in os.listdir(path) if not _TEMPORARY.fullmatch(name)}
        if foreign := names - set(ours):
            raise StorageError(
                f"{path}: holds {min(foreign)}, which Dragoman did not put there; move it away "
                "or choose another directory"
            )


def sweep(directory: Path, name: str | None = None) -> None:
    """Remove temporary files of killed processes from ``directory``.

    A directory that was about to be replaced when its process was killed gets its name back.
    Files of living processes are kept, as is everything on file systems without locks.  ``name``
    restricts removal to temporary versions of this file or directory.
    """
    with suppress(OSError):
        for leftover in os.listdir(directory):
            match = _TEMPORARY.fullmatch(leftover)
            if match and name in (None, match["name"]):
                with suppress(OSError):  # a file that cannot be removed does not stop the others
                    _sweep_one(directory / leftover, directory / match["name"], bool(match["old"]))


def remove_directory(path: Path) -> None:
    """Remove a directory, so that a crash leaves all of it or nothing under its name."""
    with suppress(OSError):
        gone = _beside(path)
        # Durable first: a power loss may keep the removal of the files and forget the renaming.
        durable_replace(path, gone)
        shutil.rmtree(gone)


def durable_replace(path: Path, target: Path) -> None:
    """Rename within a directory, so that a power loss afterwards leaves the new name."""
    os.replace(path, target)
    _flush_directory(target.parent)


def _sweep_one(leftover: Path, target: Path, old: bool) -> None:
    is_directory = leftover.is_dir()
    if leftover.is_symlink() or not (is_directory or leftover.is_file()):
        return  # not made here
    descriptor = _open(leftover)
    try:
        if not lock(descriptor):
            return
        if old and not target.exists():
            os.replace(leftover, target)
        elif is_directory:
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink()
    except BlockingIOError:
        pass  # its writer lives
    finally:
        os.close(descriptor)


def absolute(name: str, folder: Path) -> Path:
    """A path that may begin with ``~`` or be relative to ``folder``."""
    # Unlike pathlib's, this keeps the ~ of an unknown user, so that opening the file fails.
    return (folder / os.path.expanduser(name)).absolute()


def user_data_folder() -> Path:
    """The absolute folder of this user's data, ``~/.local/share/dragoman``; it need not exist.

    ``XDG_DATA_HOME`` names another parent (XDG Base Directory Specification).
    """
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # ignored, as the specification requires
        data = os.path.expanduser("~/.local/share")
    return Path(data) / "dragoman"


def content_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    content = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_DIGESTED_BYTES):
            content.update(block)
    return content.hexdigest()


def read_json(path: Path | str) -> Any:
    """Read a JSON file that may be damaged in any way.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not JSON, or nested deeper than any file that Dragoman writes.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def write_json(path: Path | str, value: Any) -> None:
    """Write ``value`` as readable JSON, atomically."""
    with atomic_write(path) as stream:
        json.dump(value, stream, ensure_ascii=False, indent=2)
        stream.write("\n")


def make_directory(path: Path, wanted: Path | None = None) -> None:
    """Make a directory and its parents, durably; an existing directory stays unchanged.

    ``wanted`` is the path that errors name: the file or directory to write there.
    """
    with storage_errors(wanted or path):
        try:
            new = [path for path in (path, *path.parents) if not path.exists()]
            path.mkdir(parents=True, exist_ok=True)
            for directory in new:
                _flush_directory(directory.parent)
        except FileNotFoundError as error:  # below /proc, or in a removed directory
            raise _no_place(wanted or path) from error


@contextmanager
def _place_kept(path: Path) -> Iterator[None]:
    """Report that files made beside ``path`` are gone, as when a network disk is detached."""
    try:
        yield
    except FileNotFoundError as error:
        raise StorageError(
            f"cannot write {path}: its directory was removed or taken away meanwhile; repeat the "
            "command when it is there again"
        ) from error


def _check_in_place(path: Path) -> None:
    """Refuse to recreate this process' working directory after it was moved or removed."""
    if (directory := lost_directory(path)) is not None:
        raise StorageError(
            f"cannot write {path}: {directory} was renamed or deleted while this process was "
            "working in it; move it back, or continue it where it is now, and repeat the command"
        )


def _no_place(path: Path) -> StorageError:
    return StorageError(f"cannot write {path}: nothing can be made there; choose another path")


@contextmanager
def _temporary(path: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A new, locked file or directory with a temporary name beside ``path``, for the block."""
    sweep(path.parent, path.name)
    temporary, descriptor = _make_locked(path, make)
    try:
        yield temporary
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)
        os.close(descriptor)


def _make_locked(path: Path, make: Callable[[Path], None]) -> tuple[Path, int]:
    """Retry until locked, as another process may sweep the new file before that."""
    while True:
        temporary = _beside(path)
        try:
            make(temporary)
        except FileNotFoundError as error:  # in /proc, or in a removed directory
            raise _no_place(path) from error
        with suppress(FileNotFoundError):
            descriptor = _open(temporary)
            with suppress(BlockingIOError):
                lock(descriptor)
                if temporary.exists():
                    return temporary, descriptor
            os.close(descriptor)


def _open(path: Path) -> int:
    """A descriptor to lock; that of a file is writable, as NFS locks require."""
    return os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)


def _beside(path: Path, suffix: str = "") -> Path:
    """An unused hidden name in the same directory.

    Not made by ``tempfile``, whose files are less accessible to others than the umask permits.
    """
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{suffix}")


def _replace_directory(new: Path, path: Path) -> None:
    """Rename ``new`` to ``path``; the old directory is removed, or restored if that fails.

    rename(2) does not replace a directory that has content.  A process that is killed between
    the two renames leaves no directory at ``path``, and :func:`sweep` restores the old one.
    """
    if not path.exists():
        durable_replace(new, path)
        return
    old = _beside(path, ".old")
    descriptor = _open(path)
    try:
        with suppress(BlockingIOError):
            lock(descriptor)  # so that no process sweeps it meanwhile
        os.replace(path, old)
        try:
            durable_replace(new, path)
        except OSError:
            os.replace(old, path)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        os.close(descriptor)


def _flush_tree(directory: Path) -> None:
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "rb") as stream:
                os.fsync(stream.fileno())
        _flush_directory(Path(folder))


def _flush_directory(path: Path) -> None:
    """Make a rename durable; a file system that cannot flush a directory raises no error."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
