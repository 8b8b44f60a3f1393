"""The errors that Dragoman raises for its users: one readable line with an exit code.

A message names the problem, its place (file and line, or configuration key), the expected value
and the remedy.  ``docs/exit-codes.md`` lists the codes.  Our own bugs are assertions,
never a :class:`DragomanError`.
"""

from __future__ import annotations

import re
import shlex
import signal
import sys

# The wordings of PyTorch (CPU and GPU), oneDNN and the operating system.
_SAID = re.compile(
    "out of memory|can't allocate memory|not enough memory|Cannot allocate|bad_?alloc",
    re.IGNORECASE,
)
# The place in PyTorch's code that raised the error.
_PLACE = re.compile(r"^\[enforce fail at [^\]]*\] err == 0\. ")
_LONGEST = 70  # characters


class DragomanError(Exception):
    """Base of the errors that the user can fix; its text is one line."""

    exit_code = 1


class ConfigError(DragomanError):
    """A configuration, an override or a command-line value does not make sense.

    It is also raised for a run directory that holds something else.
    """

    exit_code = 2


class UsageError(ConfigError, TypeError):
    """A program passed a value of the wrong kind, or used something that it had closed.

    It is a ``TypeError`` too, as Python would raise one.  No command ends with it.
    """


class DataError(DragomanError):
    """Text cannot be used as it stands: encoding, alignment, columns, emptiness."""

    exit_code = 3


class SavedError(DragomanError):
    """A run, checkpoint or model on disk is missing, truncated, altered, foreign or in use."""

    exit_code = 4


class TrainingError(DragomanError):
    """Training cannot continue: the loss stayed non-finite, or nothing is learned."""

    exit_code = 5


class StorageError(DragomanError):
    """The disk refused a write: full, read-only, or not permitted; or other files would be lost."""

    exit_code = 6


class MissingExtraError(DragomanError):
    """An optional dependency is needed but not installed; the message says how to install it."""

    exit_code = 7

    @classmethod
    def of(cls, name: str, *packages: str) -> MissingExtraError:
        """The error for a dependency commonly called ``name``.

        Args:
            name: name of the dependency.
            packages: packages that provide it, and those used with it.
        """
        return cls(f"{name} is not installed; add it with: {install_command(*packages)}")


def install_command(*packages: str) -> str:
    """The command that adds ``packages`` to the environment of this process.

    It names packages instead of an extra, which pip resolves only where Dragoman is installed from.
    It names the interpreter, since another environment may be active.
    """
    return shlex.join([sys.executable or "python", "-m", "pip", "install", *packages])


class WorkerError(DragomanError):
    """Another of the cooperating processes failed, was killed or cannot be reached.

    Args:
        message: text of the error.
        exit_code: exit code of the other process' error, if known.
    """

    exit_code = 8

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code


class NoWorkersError(WorkerError):
    """Processes that share the work were killed, and replacements could not be started.

    Starting is tried again later, so a later request may succeed.
    """


class BusyError(DragomanError):
    """Too many requests are waiting; a later one may succeed.  No command ends with it."""


class DeadlineError(DragomanError):
    """A request was not answered by its deadline, and was dropped.  No command ends with it."""


class DownloadError(DragomanError):
    """A corpus, test set or model cannot be downloaded: no network, no such file, other content."""

    exit_code = 9


class ExportError(DragomanError):
    """An export computes different results from the model in another program; it is deleted."""

    exit_code = 10


class NotEnoughMemoryError(DragomanError):
    """Memory is short even for a single sentence; larger batches are divided without an error."""

    exit_code = 11


class ServiceError(DragomanError):
    """A server does not answer a request of :class:`dragoman.Client`, or of a teacher.

    Args:
        message: text of the error.
        kind: machine-readable reason, as listed in docs/calling.md.
        status: HTTP status, if the server answered.
        retry_after: seconds after which the same request may succeed, if the server gives them.
    """

    exit_code = 12

    def __init__(
        self,
        message: str,
        kind: str = "internal",
        *,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.status, self.retry_after = kind, status, retry_after


class InterruptedRunError(DragomanError):
    """A signal stopped the work; everything is saved, and the message says how to continue.

    Args:
        message: text of the error.
        received: the signal, if this process received it; by default, that of Ctrl-C.
    """

    exit_code = 128 + signal.SIGINT

    def __init__(self, message: str, received: signal.Signals | None = None) -> None:
        super().__init__(message)
        if received is not None:
            self.exit_code = 128 + received  # as a shell reports a process killed by it


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory of the machine or of a GPU ran out.

    PyTorch raises ``OutOfMemoryError`` for a GPU, and a ``RuntimeError`` with a particular text for
    the machine's memory; NumPy and Python raise ``MemoryError``.
    """
    return isinstance(error, MemoryError) or _SAID.search(str(error)) is not None


def memory_words(error: BaseException) -> str:
    """The message of such an error, short and in one line."""
    said = _PLACE.sub("", " ".join(str(error).split()))
    return said[:_LONGEST] or type(error).__name__
