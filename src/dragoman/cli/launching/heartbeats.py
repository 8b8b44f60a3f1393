"""Detection of lost machines: each signals to the others at short intervals that it is alive.

A process that dies closes its connections, which the others notice at once.  A machine that loses
its power or its cable does not, and a collective operation would wait for it for very long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Thread

from torch.distributed.distributed_c10d import Store

_BEATS = 8
"""Number of beats within the time after which a machine is lost, as some may be late."""
_PAUSE_SECONDS = 0.05


@dataclass
class MachineRound:
    """Machines that train together until a machine is lost or joins."""

    name: str
    """Unique; its keys in the store begin with it."""
    rank: int
    size: int
    counts: list[int] = field(init=False)
    """Beats of each machine."""
    heard: list[float] = field(init=False)
    """Time of each machine's last beat, on the clock of this machine: clocks need not agree."""

    def __post_init__(self) -> None:
        self.counts = [0] * self.size
        self.heard = [time.monotonic()] * self.size

    @property
    def ended(self) -> str:
        """The key that holds the reason why the training ends for all."""
        return f"{self.name}/ended"

    @property
    def told(self) -> str:
        """The key that counts the machines that have read the reason."""
        return f"{self.name}/told"


class Heartbeats:
    """Beats of this machine, and times of the other machines' beats, in a separate thread.

    A machine without an answer for *half* of ``lost_after`` must stop its processes
    (:attr:`cut_off`): once the others start again without it, they write to the same run.

    Args:
        connect: opens a connection to the store for this thread alone; others may block in theirs.
        lost_after: seconds of silence after which a machine is lost.
    """

    def __init__(self, connect: Callable[[], Store], lost_after: float) -> None:
        self._connect, self._lost_after = connect, lost_after
        self._round: MachineRound | None = None
        self._answered: float | None = None
        self._wake = Event()
        self._done = False
        self._to_tell: str | None = None
        self.ended: str | None = None
        """The reason why the training ends for all, once a machine of the round has given it."""

    def start(self) -> None:
        """Begin to poll the store."""
        Thread(target=self._run, daemon=True).start()

    def begin(self, new: MachineRound) -> None:
        """Beat in this round from now on."""
        self._round = new
        self._wake.set()

    def stop(self) -> None:
        """Stop beating, once the others have read the reason for the end or are lost."""
        deadline = time.monotonic() + self._lost_after
        while self._to_tell is not None and not self.cut_off and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
        self._done = True
        self._wake.set()

    @property
    def cut_off(self) -> bool:
        """Whether the store has been silent for half of the time after which others give us up."""
        if self._done or self._answered is None:
            return False
        return time.monotonic() - self._answered > self._lost_after / 2

    def lost(self) -> list[int]:
        """The ranks of machines of the round that have been silent for too long."""
        now, current = time.monotonic(), self._round
        if current is None:
            return []
        others = (rank for rank in range(current.size) if rank != current.rank)
        return [rank for rank in others if now - current.heard[rank] > self._lost_after]

    def end_for_all(self, reason: str) -> None:
        """End the round for all machines; :meth:`stop` waits until they have read ``reason``."""
        if self._round is not None:
            self._to_tell = reason
            self._wake.set()

    def _run(self) -> None:
        with suppress(RuntimeError, ValueError):  # the store is gone, see ``cut_off``
            store = self._connect()
            while not self._done:
                self._wake.clear()
                begun = time.monotonic()  # before the others can hear it
                self.beat(store)
                self._answered = begun
                self._wake.wait(self._lost_after / _BEATS)

    def beat(self, store: Store) -> None:
        """Send this machine's beat, and read those of the others."""
        current = self._round
        if current is None:
            store.add("beats", 0)
            return
        for rank in range(current.size):
            count = store.add(f"{current.name}/beats/{rank}", int(rank == current.rank))
            if count != current.counts[rank]:
                current.counts[rank], current.heard[rank] = count, time.monotonic()
        if self._to_tell is not None:
            store.compare_set(current.ended, "", self._to_tell)
        if self.ended is None and store.check([current.ended]):
            self.ended = store.get(current.ended).decode()
            store.add(current.told, 1)
        if self._to_tell is not None:
            if store.add(current.told, 0) + len(self.lost()) >= current.size:
                self._to_tell = None
            else:
                self._wake.set()  # ask again soon
                time.sleep(_PAUSE_SECONDS)
