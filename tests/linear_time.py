"""Whether work takes time in proportion to its input: a ratio in one run, whatever the machine."""

from __future__ import annotations

import time
from collections.abc import Callable

PARTS = 8
LIMIT = 24
"""Eight times the input takes 8 times the time if work is linear, and 64 times if quadratic."""
TRIES = 3


def takes_linear_time(work: Callable[[int], object], size: int) -> bool:
    """Whether ``work(size)`` takes no more than its share of the processor time of an eighth.

    The least of three tries each, as what else the machine does makes some of them slower and none
    faster; far too slow a one is tried once.
    """
    part = min(_seconds(work, size // PARTS) for _ in range(TRIES))
    for _ in range(TRIES):
        ratio = _seconds(work, size) / part
        if not LIMIT <= ratio < 2 * LIMIT:
            return ratio < LIMIT
    return False


def _seconds(work: Callable[[int], object], size: int) -> float:
    """Processor time of this process alone."""
    began = time.process_time()
    work(size)
    return time.process_time() - began
