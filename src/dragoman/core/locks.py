"""Advisory locks, which the operating system releases whenever and however a process ends."""

from __future__ import annotations

import errno
import fcntl

_HELD = {errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK}


def lock(descriptor: int) -> bool:
    """Lock an open file or directory against other processes until the descriptor is closed.

    Returns:
        Whether the file system has locks; without them nothing is locked.

    Raises:
        BlockingIOError: another process, or another descriptor of this one, holds the lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            raise BlockingIOError(error.errno, "locked by another process") from error
        return False
    return True
