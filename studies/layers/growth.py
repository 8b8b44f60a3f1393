"""How fast something grows: exponents fitted to measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Growth:
    """``value ~ size^exponent`` over a range of sizes."""

    exponent: float
    standard_error: float
    """From the residuals; for a count, how far it is from a pure power."""


def fit(sizes: Sequence[int], values: Sequence[float]) -> Growth:
    """Fit a straight line to the logarithms of both, by least squares, over the upper range.

    Args:
        sizes: ascending, at least 3 of them.
        values: positive, one for each size.
    """
    first = upper(sizes)
    x, y = np.log(sizes[first:]), np.log(values[first:])
    x, y = x - x.mean(), y - y.mean()
    exponent = (x @ y) / (x @ x)
    residuals = y - exponent * x
    variance = residuals @ residuals / (len(x) - 2) / (x @ x)
    return Growth(float(exponent), float(np.sqrt(variance)))


def upper(sizes: Sequence[int]) -> int:
    """Where the upper range begins: the larger half, and at least 3 sizes."""
    return min(len(sizes) // 2, len(sizes) - 3)
