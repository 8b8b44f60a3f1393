"""How often a part of a sequence follows itself."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

_LONE = 4
_SEVERAL = 3


def least_loop(length: int) -> int:
    """How often a part of ``length`` elements must follow itself to be a loop.

    Once or twice is common in good text: a single element loops from the fourth time on, such as
    the digits of 1000 or three dots do not; several elements from the third.
    """
    return _LONE if length == 1 else _SEVERAL


def loop(sequence: Sequence[Hashable]) -> int:
    """How often the part that loops most follows itself; 0 if none loops.

    "the door the door the door" has 3.  Of a long sequence, time grows with the square of its
    length, and only if some element occurs often enough.
    """
    size = len(sequence)
    if size - len(set(sequence)) < _SEVERAL - 1:
        return 0  # nearly every sentence
    most = 0
    for length in range(1, size // _SEVERAL + 1):
        run = longest = 0
        for one, other in zip(sequence, sequence[length:], strict=False):
            run = run + 1 if one == other else 0
            longest = max(longest, run)
        times = longest // length + 1
        if times >= least_loop(length):
            most = max(most, times)
    return most
