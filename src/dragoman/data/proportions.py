"""Number of times each pair of a weighted corpus part is seen in an epoch.

A part of weight ``w`` shows each of its pairs ``w`` times per epoch on average: always ``floor(w)``
or ``floor(w) + 1`` times, and exactly ``w * k`` times in ``k`` epochs if that is a whole number.
With ``w = 0.5`` a pair is seen exactly every other epoch.

Parts of several languages may be mixed by a temperature instead of by their sizes alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from dragoman.core.ranges import IntArray
from dragoman.data.store import StoredPart
from dragoman.text.reservoir import tempered


def rows_in_epoch(start: int, stop: int, weight: float, *, seed: int, epoch: int) -> IntArray:
    """Rows ``start`` to ``stop`` of a part, each repeated as ``epoch`` (from 0) shows it."""
    rows = np.arange(start, stop, dtype=np.int64)
    whole = math.floor(weight)
    fraction = weight - whole
    if fraction == 0:
        return np.repeat(rows, whole)
    # Every row is shown with the period 1 / fraction, each at its own phase.
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


def mixed_weights(
    parts: Sequence[StoredPart],
    temperature: float | None,
    chosen: Collection[int] | None = None,
) -> list[float]:
    """The weight of each part, tempered by the size of its direction.

    A direction of ``n`` pairs, counted by weight, is shown in proportion to ``n ** (1 / T)``.  The
    largest keeps its weights, and the others are shown more often (Arivazhagan et al. 2019,
    arXiv:1907.05019, section 4.2).

    Directions within one language, such as copies, are tempered separately.  Otherwise a few copied
    lines would be shown nearly as often as all the pairs of a large translation direction.

    Args:
        temperature: T; None leaves the weights unchanged.
        chosen: numbers of the parts that are shown; the others get weight 0.  None shows all.
    """
    shown = range(len(parts)) if chosen is None else chosen
    weights = [part.weight if number in shown else 0.0 for number, part in enumerate(parts)]
    if temperature is None:
        return weights
    translated: dict[tuple[str, str], float] = defaultdict(float)
    within_one: dict[tuple[str, str], float] = defaultdict(float)
    for part, weight in zip(parts, weights, strict=True):
        if part.stop > part.start and weight:
            source, target = part.source_language, part.target_language
            sizes = within_one if source == target else translated
            sizes[source, target] += (part.stop - part.start) * weight
    factors = tempered(translated, temperature) | tempered(within_one, temperature)
    return [
        weight * factors.get((part.source_language, part.target_language), 1.0)
        for weight, part in zip(weights, parts, strict=True)
    ]
