"""How often each pair of a weighted corpus part is seen in an epoch.

A part of weight ``w`` shows each of its pairs ``w`` times an epoch on average: always
``floor(w)`` or ``floor(w) + 1`` times, and exactly ``w * k`` times in ``k`` epochs where that is
a whole number.  With ``w = 0.5`` a pair is seen every other epoch, not "about every other".
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def rows_in_epoch(start: int, stop: int, weight: float, *, seed: int, epoch: int) -> IntArray:
    """The rows ``start`` to ``stop`` of a part, each as often as ``epoch`` (from 0) shows it."""
    rows = np.arange(start, stop, dtype=np.int64)
    whole = math.floor(weight)
    fraction = weight - whole
    if fraction == 0:
        return np.repeat(rows, whole)
    # Every row's turn comes round with the period 1 / fraction, at a phase of its own.
    phase = _phase(rows, seed)
    turns = np.floor((epoch + 1) * fraction + phase) - np.floor(epoch * fraction + phase)
    return np.repeat(rows, whole + turns.astype(np.int64))


def _phase(rows: IntArray, seed: int) -> npt.NDArray[np.float64]:
    """A number in [0, 1) for each row, by the splitmix64 mixing function (Steele et al. 2014)."""
    golden = 0x9E3779B97F4A7C15
    start = np.uint64((seed + 1) * golden % 2**64)
    mixed = rows.astype(np.uint64) * np.uint64(golden) + start
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    # 32 bits leave room in a double for the epochs that are added.
    return (mixed >> np.uint64(32)).astype(np.float64) / 2**32
