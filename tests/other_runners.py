"""Runners that do what those of a cluster may do: work in any order, and end in the middle."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


class Shuffled:
    """Carries out work in an order of its own, as a cluster does."""

    machines = 3

    def carry_out(
        self, work: Callable[[Any], Any], items: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        items = list(items)
        random.Random(len(items)).shuffle(items)
        return ((item, work(item)) for item in items)


@dataclass
class Interrupted:
    """Stops after some pieces of work."""

    after: int
    done: int = 0
    machines = 1
    items: list[tuple[str, Any]] = field(default_factory=list)

    def carry_out(
        self, work: Callable[[Any], Any], items: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        for item in items:
            if self.done == self.after:
                raise KeyboardInterrupt
            self.done += 1
            self.items.append((type(work).__name__, item))
            yield item, work(item)
