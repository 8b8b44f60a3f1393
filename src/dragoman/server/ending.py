"""The end of a server's process, whatever its threads are doing."""

from __future__ import annotations

import logging
import math
import os
import threading
import time

log = logging.getLogger(__name__)


class BoundedEnd:
    """Ends this process when its time is up, unless it has ended by then.

    Python waits for all threads before a process ends.  No thread can be stopped that translates a
    batch or waits for a database, and nobody needs what it is doing any more: callers have their
    answers, files start again, and a database keeps whole transactions only.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._end = math.inf

    def within(self, seconds: float) -> None:
        """End the process after some seconds, with exit code 0; an earlier end stays."""
        end = time.monotonic() + seconds
        if end >= self._end:
            return
        self.call_off()
        self._end = end
        self._timer = threading.Timer(seconds, _end_now)
        self._timer.daemon = True
        self._timer.start()

    def call_off(self) -> None:
        """Let the process end by itself."""
        if self._timer is not None:
            self._timer.cancel()


def _end_now() -> None:
    """End without waiting for any thread; processes that translate notice, and end too."""
    log.warning("the time to stop is up: the server ends without what is still being translated")
    logging.shutdown()
    os._exit(0)
