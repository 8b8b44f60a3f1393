"""How much of its time a request has left."""

from __future__ import annotations

import anyio

_LAST_WORDS = 1.0
"""Seconds in which an answer can still be sent; of a short time, a tenth."""


def time_left() -> float:
    """Seconds that the work on a request may take, so that some of its time is left to answer."""
    left = anyio.current_effective_deadline() - anyio.current_time()
    return left - min(_LAST_WORDS, left / 10)
