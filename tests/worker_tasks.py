"""What workers do in tests of the pool; they import it by this name."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import connection

from dragoman.core.errors import SavedError

_factor = 0


def begin(factor: int) -> None:
    global _factor  # noqa: PLW0603 - what a worker keeps
    _factor = factor


def refuse(reason: str) -> None:
    raise SavedError(reason)


def times(number: int) -> int:
    return _factor * number


def slowly(number: int) -> int:
    time.sleep(0.2)
    return number


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_while_sending(number: int) -> int:
    """A message of which two bytes arrive."""

    def half(self: connection.Connection, message: bytes) -> None:
        os.write(self.fileno(), bytes(message[:2]))
        os.kill(os.getpid(), signal.SIGKILL)

    connection.Connection._send = half  # type: ignore[attr-defined]
    return number


def then_die_while_sending(number: int) -> int:
    """All but the first."""
    return die_while_sending(number) if number else number


def fail(number: int) -> int:
    raise TimeoutError(f"of task {number}")


def die_unless_marked(given: tuple[str, int]) -> int:
    """Number 2 kills its worker, but only the first time, of which it leaves a file."""
    path, number = given
    if number == 2 and not os.path.exists(path):
        with open(path, "w", encoding="utf-8"):
            pass
        die(number)
    return number


def begin_once(path: str) -> None:
    """Leaves a file, and is killed where there is one."""
    if os.path.exists(path):
        die(0)
    with open(path, "w", encoding="utf-8"):
        pass
    begin(7)


def begin_slowly(path: str) -> None:
    """Leaves a file before it takes its time."""
    with open(path, "w", encoding="utf-8"):
        pass
    time.sleep(0.3)
    begin(7)
