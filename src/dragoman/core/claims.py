"""Claiming a directory: one process at a time works in it, and errors tell others which."""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.core.errors import SavedError
from dragoman.core.files import make_directory, storage_errors
from dragoman.core.locks import held, lock

log = logging.getLogger(__name__)


@contextmanager
def claimed(marker: Path, use: str) -> Iterator[None]:
    """Lock a directory for this process within the block; it is made if necessary.

    If it is moved or removed meanwhile, :mod:`dragoman.core.files` refuses to write in its old
    place.

    Args:
        marker: file in the directory that is locked and names the process; it is never removed.
        use: for the error: the use by another process, and the remedy, such as "this run; wait
            until it ends".

    Raises:
        SavedError: another process is using it.
        StorageError: it cannot be written.
    """
    directory = marker.parent
    with storage_errors(directory):
        make_directory(directory)
        # Written in place: after a replacement, others would lock another file of the same name.
        descriptor = os.open(marker, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(descriptor, directory, use)
        with held(marker, descriptor):
            yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, directory: Path, use: str) -> None:
    try:
        if not lock(descriptor):
            log.warning(
                "%s: its file system has no locks; make sure that no other process uses it",
                directory,
            )
    except BlockingIOError:
        raise SavedError(f"{directory}: {_holder(descriptor)} is using {use}") from None
    holder = {"process": os.getpid(), "host": socket.gethostname()}
    with storage_errors(directory):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, (json.dumps(holder) + "\n").encode(), 0)


def _holder(descriptor: int) -> str:
    try:
        found = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {int(found['process'])} on {found['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
