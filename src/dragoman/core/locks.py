"""Advisory locks, which the operating system releases however a process ends."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HELD = {errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK}
_markers: dict[Path, tuple[Path, int]] = {}
"""By directory in which this process works: its marker file and the open descriptor."""


def lock(descriptor: int) -> bool:
    """Lock an open file or directory against other processes until the descriptor is closed.

    Returns:
        Whether the file system has locks; without them nothing is locked.

    Raises:
        BlockingIOError: another process, or another descriptor of this process, holds the lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            raise BlockingIOError(error.errno, "locked by another process") from error
        return False
    return True


@contextmanager
def held(marker: Path, descriptor: int) -> Iterator[None]:
    """Record within the block that this process works in the directory of ``marker``.

    Args:
        marker: a file in the directory that stays unchanged.
        descriptor: open descriptor of the same file.
    """
    directory = Path(os.path.abspath(marker.parent))
    _markers[directory] = directory / marker.name, descriptor
    try:
        yield
    finally:
        del _markers[directory]


def lost_directory(path: Path) -> Path | None:
    """The directory around ``path`` in which this process works, if it is no longer in its place.

    It may have been renamed, removed, or replaced by another directory.
    """
    if not _markers:
        return None
    for parent in Path(os.path.abspath(path)).parents:
        if parent in _markers:
            marker, descriptor = _markers[parent]
            try:
                there = os.stat(marker)
            except OSError:
                return parent
            return None if os.path.samestat(there, os.fstat(descriptor)) else parent
    return None
