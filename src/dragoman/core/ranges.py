"""Sequences of different lengths in one vector, one after another."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


def starts_of(lengths: IntArray) -> IntArray:
    """The start of each sequence."""
    starts: IntArray = np.cumsum(lengths) - lengths
    return starts


def flattened(sequences: Collection[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Sequences one after another in one vector, and the length of each."""
    lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
    values = np.fromiter(chain.from_iterable(sequences), dtype=np.int64, count=int(lengths.sum()))
    return values, lengths


def gathered(
    values: npt.NDArray[Scalar], starts: IntArray, lengths: IntArray
) -> npt.NDArray[Scalar]:
    """Ranges of ``values`` one after another, given their starts and lengths."""
    # Positions within the result, each moved to the start of its range in ``values``.
    shifts = np.repeat(starts - starts_of(lengths), lengths)
    return values[np.arange(len(shifts), dtype=np.int64) + shifts]
