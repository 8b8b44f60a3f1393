"""Running commands of Dragoman, one or several at a time, until a time or a signal ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore

from dragoman.core.device import usable_cores
from dragoman.core.errors import DragomanError
from dragoman.core.files import make_directory, storage_errors
from dragoman.training.interruption import Interruption
from studies.tables.workplace import STUDY, is_study, shell

_PATIENCE = 300.0
"""Seconds for a command to save its work once it was told to stop."""
ERROR = "dragoman: error: "
"""How the command line begins an error."""
_GLANCE = 0.1
"""Seconds between two looks at the time."""


class FailedCommandError(DragomanError):
    """A command of a stage or a row ended with an error."""


class StoppedError(Exception):
    """The time is over, or a signal came; what can be resumed was saved."""


@dataclass
class CommandRunner:
    """Runs commands by the interpreter of this process.

    Each is in a session of its own, so that a signal reaches it only once, from here.
    """

    interruption: Interruption
    deadline: float | None = None
    """When to stop, by ``clock``."""
    clock: Callable[[], float] = time.monotonic
    program: Sequence[str] = (sys.executable, "-m", "dragoman")
    """What runs the commands."""
    jobs: int = 1
    """How many threads may run a command at once; each has its share of the cores."""

    def __post_init__(self) -> None:
        self._turns = BoundedSemaphore(self.jobs)
        self._is_stopped = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until fewer than ``jobs`` threads are within this block, where commands are run.

        Raises:
            StoppedError: no more work should begin, perhaps since this thread has waited.
        """
        with self._turns:
            self.check()
            yield

    def stop(self) -> None:
        """Stop all commands, as a signal would."""
        self._is_stopped = True

    def check(self) -> None:
        """Raise :class:`StoppedError` if no more work should begin."""
        if self._is_over():
            raise StoppedError

    def run(self, arguments: Sequence[str], log: Path, *, fine: Collection[int] = (0,)) -> float:
        """Run ``dragoman``, or a study, with these arguments; what it says is added to ``log``.

        Args:
            fine: exit codes that are no failure.

        Returns:
            Seconds that it took.

        Raises:
            FailedCommandError: it ended with an error; the text is its last line.
            StoppedError: it was told to stop and has ended.
            StorageError: the log cannot be written.
        """
        self.check()
        make_directory(log.parent)
        begun = self.clock()
        with storage_errors(log), log.open("ab") as stream:
            stream.write(f"$ {shell(list(arguments))}\n".encode("utf-8", "backslashreplace"))
            stream.flush()
            start = stream.tell()
            process = subprocess.Popen(
                self._command(arguments),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self._environment(),
            )
            code = self._wait(process)
        if code is None:
            raise StoppedError
        if code not in fine:
            raise FailedCommandError(
                f"{_last_line(log, start) or f'exit code {code}'} (log: {log})"
            )
        return self.clock() - begun

    def _command(self, arguments: Sequence[str]) -> list[str]:
        if is_study(arguments):
            return [sys.executable, "-m", *arguments[len(STUDY) :]]
        return [*self.program, *arguments]

    def _environment(self) -> dict[str, str]:
        """Threads of all would compete for the cores, which is slower by far."""
        share = max(1, usable_cores() // self.jobs)
        return {"OMP_NUM_THREADS": str(share), **os.environ} if self.jobs > 1 else {**os.environ}

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        """The exit code; None if the command was told to stop before it had one."""
        while not self._is_over():
            try:
                return process.wait(_GLANCE)
            except subprocess.TimeoutExpired:
                pass
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with what it has started in its session
            process.wait()
        return None

    def _is_over(self) -> bool:
        late = self.deadline is not None and self.clock() >= self.deadline
        return late or self._is_stopped or self.interruption.signal is not None


def _last_line(log: Path, start: int) -> str:
    """The last line that a command wrote: its error."""
    with log.open("rb") as stream:
        stream.seek(start)
        lines = stream.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return last.removeprefix(ERROR)
