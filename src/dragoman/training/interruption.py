"""Stopping between two steps instead of within a step."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Interruption:
    """Defers SIGTERM, SIGHUP and Ctrl-C until the current step is done.

    SIGHUP stays ignored if the process was started so, as by ``nohup``.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within this block, signals are recorded instead of obeyed."""
        before = {}
        with suppress(ValueError):  # only the main thread may set handlers
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                    before[number] = signal.signal(number, self._remember)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _remember(self, number: int, _: object) -> None:
        self.signal = signal.Signals(number)
