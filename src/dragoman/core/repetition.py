"""Counting how often a part of a sequence repeats consecutively."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

_LONE = 4
_SEVERAL = 3


def least_loop(length: int) -> int:
    """The least number of times that a part of ``length`` elements must follow itself to be a loop.

    Once or twice is common in good text.  A single element loops from the fourth time on, which the
    digits of 1000 or three dots do not reach; several elements loop from the third.
    """
    return _LONE if length == 1 else _SEVERAL


def loop(sequence: Sequence[Hashable]) -> int:
    """How often the most repeated loop follows itself; 0 without a loop.

    "the door the door the door" has 3.  Time grows with the length of a sequence, and with the
    square of the length of a stretch whose elements all occur often enough, which rarely exceeds a
    few; it is less if the stretch loops.
    """
    return max(map(_loop, _stretches(sequence)), default=0)


def _stretches(sequence: Sequence[Hashable]) -> Iterator[Sequence[Hashable]]:
    """The parts of a sequence, as long as possible, whose elements all occur often enough."""
    counts = Counter(sequence)
    if max(counts.values(), default=0) < _SEVERAL:
        return
    start = 0
    for place, element in enumerate(sequence):
        if counts[element] < _SEVERAL:
            if place - start >= _SEVERAL:
                yield sequence[start:place]
            start = place + 1
    yield sequence[start:]


def _loop(sequence: Sequence[Hashable]) -> int:
    """The result of :func:`loop` for elements of any type."""
    known: dict[Hashable, int] = {}
    numbers = np.array([known.setdefault(element, len(known)) for element in sequence])
    most = 0
    for length in range(1, len(sequence) // _SEVERAL + 1):
        if len(sequence) // length <= most:
            break  # a longer part cannot follow itself more often
        differing = np.flatnonzero(numbers[length:] != numbers[:-length])
        gaps = np.diff(differing, prepend=-1, append=len(numbers) - length)
        times = (int(gaps.max()) - 1) // length + 1
        if times >= least_loop(length):
            most = max(most, times)
    return most
