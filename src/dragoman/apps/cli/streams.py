"""The standard streams of a command, which may be closed, full, or read by nobody any more.

What a command prints is what it was called for, so that its loss is an error.  What it tells on
standard error only goes with that: its loss ends nothing, least of all a training of days.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dragoman.core.errors import StorageError


def open_closed_streams() -> None:
    """Give the standard streams that were closed (``<&-``, ``>&-``) something to fail on.

    Their numbers are taken, lest the next file that is opened gets one of them and with it what
    any library prints.  They are opened the wrong way round, so that reading and writing fail.
    """
    for name, wrong, mode in (
        ("stdin", os.O_WRONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_RDONLY, "w"),
    ):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, wrong)
            os.set_inheritable(descriptor, True)
            stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


@contextmanager
def guarded_streams() -> Iterator[None]:
    """While this lasts, a broken standard output is an error of one line, standard error is none.

    What the encoding of a stream lacks, as it lacks the bytes of a file name that are no UTF-8, is
    written with backslashes.

    Raises:
        StorageError: where something is printed: standard output is closed or full.
        BrokenPipeError: likewise: nobody reads it any more.
    """
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = _Guarded(streams[0], _lost), _Guarded(streams[1], _told_nobody)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def discard(stream: Any) -> None:
    """Send what is left in a stream to nowhere, instead of failing again when it is closed."""
    with suppress(OSError, ValueError):  # a stream of a test has no number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _lost(error: OSError) -> None:
    if isinstance(error, BrokenPipeError):
        raise error
    reason = "it is closed" if error.errno == errno.EBADF else error.strerror
    raise StorageError(
        f"cannot write to standard output: {reason}; what was printed is not whole: direct it "
        "elsewhere and repeat the command"
    ) from error


def _told_nobody(_: OSError) -> None:
    """Standard error is the last to be told of anything."""


class _Guarded:
    """A stream whose failures to write go to ``failed``; all else is the stream's own.

    Once it has failed it stays so: click, for one, passes over what its first trial writes raise.
    """

    def __init__(self, stream: Any, failed: Callable[[OSError], None]) -> None:
        self._stream = stream
        self._failed = failed
        self._error: OSError | None = None

    def write(self, content: Any) -> int:
        """Write text or bytes, as the stream takes it."""
        written: int = self._guard(self._stream.write, content)
        return written

    def flush(self) -> None:
        """Write what is left in memory."""
        self._guard(self._stream.flush)

    def _guard(self, function: Callable[..., Any], *arguments: Any) -> Any:
        result = None
        try:
            result = function(*arguments)
        except OSError as error:
            self._error = error
            discard(self._stream)
        if self._error is not None:
            self._failed(self._error)
        return result

    @property
    def buffer(self) -> _Guarded:
        """The stream of bytes below one of text."""
        return _Guarded(self._stream.buffer, self._failed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
