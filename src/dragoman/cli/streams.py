"""The standard streams of a command, which may be closed, full or broken pipes.

Standard output is the result of a command, so losing it is an error.  Losing standard error stops
nothing, least of all a training run of several days.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dragoman.core.errors import StorageError

BROKEN_PIPE = 141  # 128 + SIGPIPE, which some systems lack
"""The exit code of a command whose output has no reader any more."""


def open_closed_streams() -> None:
    """Reopen closed standard streams (``<&-``, ``>&-``) so that using them fails.

    Otherwise the next file opened would get one of their descriptors, and receive anything that a
    library prints.  They are opened in the wrong direction, so that reading and writing fail.
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
    """Report a broken standard output as a one-line error, and ignore a broken standard error.

    Characters that a stream cannot encode, such as the bytes of a file name that is not UTF-8, are
    written as backslash escapes.
    """
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = _Guarded(streams[0], _lost), _Guarded(streams[1], _ignored)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def discard(stream: Any) -> None:
    """Discard the remaining contents of a stream, so that closing it does not fail again."""
    with suppress(OSError, ValueError):  # a test's stream has no descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _lost(error: OSError) -> None:
    if isinstance(error, BrokenPipeError):
        raise error
    reason = "it is closed" if error.errno == errno.EBADF else error.strerror
    raise StorageError(
        f"cannot write to standard output: {reason}; the output is incomplete: redirect it "
        "elsewhere and repeat the command"
    ) from error


def _ignored(_: OSError) -> None:
    """Ignore a failure of standard error, which cannot be reported anywhere."""


class _Guarded:
    """A stream that passes write errors to ``failed``, and delegates everything else.

    Once it has failed, every write fails, because click ignores errors of its first test write.
    """

    def __init__(self, stream: Any, failed: Callable[[OSError], None]) -> None:
        self._stream = stream
        self._failed = failed
        self._error: OSError | None = None

    def write(self, content: Any) -> int:
        """Write text or bytes, whichever the stream takes."""
        written: int = self._guard(self._stream.write, content)
        return written

    def writelines(self, lines: Iterable[Any]) -> None:
        self._guard(self._stream.writelines, lines)

    def flush(self) -> None:
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
        """The byte stream underneath."""
        return _Guarded(self._stream.buffer, self._failed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
