"""Running many pieces of work in this process or on the machines of a cluster.

A piece of work is a function of its item alone and leaves its result in files.  It may run anywhere
and in any order, even if a killed process had already begun it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Runs pieces of work; ``workflows.cluster`` has the implementation for several machines."""

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
            WorkerError: workers were killed more often than the limit.
            Exception: any error of ``work``.
        """


class InProcessRunner:
    """Carries out everything here, one item after another."""

    machines = 1

    def carry_out(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """The items with their results, in their order."""
        return ((item, work(item)) for item in items)
