"""One process at a time works in a directory, or makes an output that must not exist yet."""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import make_directory, storage_errors
from dragoman.core.locks import held, lock

_RESERVED = "0" * 16
"""The end of a reservation's name, which is that of a temporary file so that it is swept."""

log = logging.getLogger(__name__)


@contextmanager
def claimed(marker: Path, use: str) -> Iterator[None]:
    """Lock a directory for this process within the block; it is made if necessary.

    If it is moved or removed meanwhile, :mod:`dragoman.core.files` refuses to write in its old
    place.

    Args:
        marker: file in the directory that is locked and names the process; it is never removed.
        use: the use by another process and the remedy, for the error: "this run; wait until it
            ends".

    Raises:
        SavedError: another process is using it.
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
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {int(holder['process'])} on {holder['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


@contextmanager
def new_output(path: Path, remedy: str) -> Iterator[None]:
    """Reserve a path for this process until the block ends.

    Args:
        path: a file or directory that does not exist.
        remedy: advice if it exists: "name a directory that does not".

    Raises:
        ConfigError: it exists, or another process is making it.
    """
    _check_absent(path, remedy)
    missing = [folder for folder in path.absolute().parents if not folder.exists()]
    try:
        with _reserved(path, remedy):
            _check_absent(path, remedy)  # now that no other process can make it
            yield
    except BaseException:
        with suppress(OSError):  # those that are not empty stay
            for folder in missing:
                folder.rmdir()
        raise


@contextmanager
def new_outputs(paths: Iterable[Path], remedy: str) -> Iterator[None]:
    """:func:`new_output` of several paths."""
    with ExitStack() as stack:
        for path in paths:
            stack.enter_context(new_output(path, remedy))
        yield


def _check_absent(path: Path, remedy: str) -> None:
    if os.path.lexists(path):
        raise ConfigError(f"{path}: exists already; {remedy}")


@contextmanager
def _reserved(path: Path, remedy: str) -> Iterator[None]:
    """Hold the lock of a file beside ``path``, which has the same name for all processes."""
    reservation = path.with_name(f".{path.name}.{_RESERVED}")
    while True:
        with storage_errors(path):
            make_directory(path.parent, path)
            try:
                descriptor = os.open(reservation, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:  # a process that failed has just removed the directory
                continue
        try:
            lock(descriptor)
        except BlockingIOError:
            os.close(descriptor)
            raise ConfigError(f"{path}: another process is making it; {remedy}") from None
        with suppress(FileNotFoundError):  # another process has finished, and removed it
            if os.path.samestat(os.stat(reservation), os.fstat(descriptor)):
                break
        os.close(descriptor)
    try:
        yield
    finally:
        reservation.unlink(missing_ok=True)
        os.close(descriptor)
