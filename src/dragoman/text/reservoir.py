"""A fair sample of a stream that is too long to keep, and weights, as counts or tempered."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

Item = TypeVar("Item")
Group = TypeVar("Group")

_FINENESS = 2520  # all numbers up to 10 divide it
_FINEST = 2.0**40


class Reservoir(Generic[Item]):
    """Reservoir sampling (Vitter 1985, algorithm R): each item is kept with the same probability.

    A stream that is not longer than the sample is kept whole and in order.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.items: list[Item] = []
        self.seen = 0
        self._size, self._rng = size, random.Random(seed)

    def add(self, item: Item) -> None:
        """Keeps the item, possibly in place of another, or skips it."""
        self.seen += 1
        if len(self.items) < self._size:
            self.items.append(item)
        elif (place := self._rng.randrange(self.seen)) < self._size:
            self.items[place] = item

    def shrink(self, size: int) -> None:
        """Keeps at most ``size`` items from now on, and a random sample of the present ones."""
        self._size = size
        if len(self.items) > size:
            kept = sorted(self._rng.sample(range(len(self.items)), size))
            self.items = [self.items[place] for place in kept]


def whole_counts(weights: Iterable[float], smallest: int = 1) -> dict[float, int]:
    """The smallest whole numbers in the proportions of positive weights.

    Weights are rounded to the nearest 2520th of the largest, and to at least one 2520th.

    Args:
        smallest: minimum count of the smallest weight, which refines the rounding if needed; 100
            keeps every weight within half a percent.  The largest count stays below 2**40.
    """
    different = set(weights)
    largest = max(different, default=1.0)
    fineness: float = _FINENESS
    if smallest > 1 and different:
        fineness = max(fineness, min(smallest * (largest / min(different)), _FINEST))
    scaled = {weight: max(1, round(fineness * (weight / largest))) for weight in different}
    divisor = math.gcd(*scaled.values())
    return {weight: count // divisor for weight, count in scaled.items()}


def tempered(sizes: Mapping[Group, float], temperature: float) -> dict[Group, float]:
    """Weights of groups that make their shares proportional to their sizes to the power 1/T.

    The largest group has the weight 1. With T = 1 all groups have this weight, and the larger T is,
    the closer all groups come to equal shares (Arivazhagan et al. 2019, arXiv:1907.05019, section
    4.2).
    """
    largest = max(sizes.values(), default=1.0)
    return {
        group: float((largest / size) ** (1 - 1 / temperature)) for group, size in sizes.items()
    }
