"""How often clients may ask: a sliding window for each of them."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

MAX_CLIENTS = 100_000
"""Clients that are remembered at once; the one that has been silent longest is forgotten first."""


class RequestRates:
    """The requests of each client in the last minute.

    A client that asks too often gets the time at which its next turn comes, and that turn is its
    own: requests that wait keep their order.

    Args:
        window: length of the window, in seconds.
        clock: tells the time, in seconds.
    """

    def __init__(self, window: float = 60, clock: Callable[[], float] = time.monotonic) -> None:
        self._window, self._clock = window, clock
        self._turns: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def take_turn(self, client: Hashable, limit: int, patience: float) -> float:
        """The seconds until the turn of this request; it is taken if they are within ``patience``.

        Args:
            client: who asks.
            limit: maximum requests in a window.
            patience: how long the request would wait, in seconds.
        """
        now = self._clock()
        turns = self._turns.setdefault(client, deque())
        self._turns.move_to_end(client)
        while turns and turns[0] <= now - self._window:
            turns.popleft()
        # There may be more turns than the limit, which can be lowered.
        wait = max(0.0, turns[-limit] + self._window - now) if len(turns) >= limit else 0.0
        if wait <= patience:
            turns.append(now + wait)
        self._forget(now)
        return wait

    def _forget(self, now: float) -> None:
        """Drop clients whose window is over, and any beyond what is remembered."""
        while self._turns:
            client, turns = next(iter(self._turns.items()))
            is_over = not turns or turns[-1] <= now - self._window
            if not is_over and len(self._turns) <= MAX_CLIENTS:
                return
            del self._turns[client]
