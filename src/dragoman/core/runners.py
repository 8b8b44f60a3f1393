"""Who carries out many pieces of work: this process, or the machines of a cluster.

What is done is a function of its item alone and leaves its result in files, so that it does not
matter who does it, in which order, or whether somebody who was killed had begun it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Carries out pieces of work; see ``workflows.cluster`` for the one on several machines."""

    @property
    def machines(self) -> int:
        """Number of machines that work at present."""

    def carry_out(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """The items with their results, in any order.

        Args:
            work: can be sent to another machine, and repeated there without harm.
            items: consumed as results are taken, only a few in advance.

        Raises:
            WorkerError: a worker was killed more often than is endured.
            Exception: whatever ``work`` raises.
        """


class InProcessRunner:
    """Carries out everything here, one item after another."""

    machines = 1

    def carry_out(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """The items with their results, in their order."""
        return ((item, work(item)) for item in items)
