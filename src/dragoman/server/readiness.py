"""Whether a server takes requests: what a balancer asks, and what ends before the server does."""

from __future__ import annotations

import time
from collections.abc import Callable


class Readiness:
    """Ready until it drains; then for some seconds not ready and still answering.

    A balancer that asks ``/ready`` learns that the server will end while the server still answers
    what the balancer has sent meanwhile, so that nothing is lost.

    Args:
        drain_seconds: how long a server still takes requests once it was told to stop.
        clock: tells the time, in seconds.
    """

    def __init__(
        self, drain_seconds: float = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.drain_seconds, self._clock = drain_seconds, clock
        self._end: float | None = None

    def drain(self) -> None:
        """Say from now on that the server is not ready."""
        if self._end is None:
            self._end = self._clock() + self.drain_seconds

    @property
    def is_draining(self) -> bool:
        """Whether the server is about to end."""
        return self._end is not None

    @property
    def is_over(self) -> bool:
        """Whether it may end now."""
        return self._end is not None and self._clock() >= self._end
