"""Expected length of the translation of a source, learned from the pairs themselves.

Cross-entropies per token hardly show that half of a translation is missing, since its words are
right; its length does (Gale and Church 1993, "A Program for Aligning Sentences in Bilingual
Corpora", section 3).  Medians are used so that wrong pairs, which should be detected, do not
influence the expectation.  Only sources of similar length are compared, as short translations vary
more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_GROUPS = 10
_GROUP_PAIRS = 100  # at least, for a median that few pairs do not decide
_LEAST_SPREAD = 0.1  # of logarithms: a tenth more or less is never odd
_DEVIATIONS = 1.4826  # of a normal distribution in its median absolute deviation
_DIGITS = 6  # equal on any processor, so that scoring may be resumed on another


@dataclass(frozen=True)
class ExpectedLengths:
    """Usual lengths, for groups of sources from the shortest to the longest.

    Lengths are logarithms of characters, and those of targets relative to their sources.
    """

    sources: tuple[float, ...]
    """The median length of a group's sources."""
    ratios: tuple[float, ...]
    """The median relative length of a group's targets."""
    spreads: tuple[float, ...]
    """The standard deviation of the relative lengths, from the median absolute deviation."""

    @classmethod
    def of(cls, lengths: Sequence[tuple[int, int]]) -> ExpectedLengths:
        """Learn usual lengths from the characters of sources and targets, at least one pair."""
        sources, targets = np.log1p(np.array(lengths, np.float64).T)
        groups = max(1, min(_GROUPS, len(lengths) // _GROUP_PAIRS))
        figures = []
        for group in np.array_split(np.argsort(sources, kind="stable"), groups):
            relative = targets[group] - sources[group]
            ratio = np.median(relative)
            spread = max(_DEVIATIONS * np.median(np.abs(relative - ratio)), _LEAST_SPREAD)
            of_group = np.median(sources[group]), ratio, spread
            figures.append(tuple(round(float(figure), _DIGITS) for figure in of_group))
        return cls(*zip(*figures, strict=True))

    def excess(self, source: int, target: int) -> float:
        """Deviation of a target's length from the expected length in standard deviations, signed.

        The expected length is interpolated between the groups.
        """
        length = np.log1p(source)
        ratio = np.interp(length, self.sources, self.ratios)
        spread = np.interp(length, self.sources, self.spreads)
        return float((np.log1p(target) - length - ratio) / spread)
