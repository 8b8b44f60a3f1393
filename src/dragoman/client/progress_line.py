"""How far long work is and how long it takes yet, as one line of a terminal."""

from __future__ import annotations

import sys
import time

_PAUSE = 0.2  # seconds between two states of the line


class ProgressLine:
    """A line on standard error, if that is a terminal.

    Args:
        unit: what is counted, such as ``lines``; empty: only shares are shown.
        total: how much there is to do; None: unknown.
        quiet: show nothing.
    """

    def __init__(self, unit: str, total: float | None, *, quiet: bool = False) -> None:
        self._unit, self._total = unit, total
        self._begin, self._last = time.monotonic(), 0.0
        self._shown = not quiet and sys.stderr is not None and sys.stderr.isatty()

    def show(self, done: float) -> None:
        """Replace the line, but not too often."""
        now = time.monotonic()
        if self._shown and now - self._last >= _PAUSE:
            self._last = now
            print(f"\r{self.wording(done, now - self._begin):70}", end="", file=sys.stderr)
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._shown and self._last:
            print(f"\r{'':70}\r", end="", file=sys.stderr)

    def wording(self, done: float, seconds: float) -> str:
        """The line after some seconds: share, count, rate and time left, if they are known."""
        parts = []
        if self._unit:
            rate = done / seconds if seconds > 0 else 0.0
            parts += [f"{done:,.0f} {self._unit}", f"{rate:,.1f} {self._unit}/s"]
        if self._total and done > 0:
            share = min(1.0, done / self._total)
            left = round(seconds * (1 - share) / share)
            parts = [f"{share:.0%}", *parts, f"{left // 60}:{left % 60:02} left"]
        return ", ".join(parts)
