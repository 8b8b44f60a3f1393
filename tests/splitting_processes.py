"""Small processes that split words, and what comes of them."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from dragoman.text.vocabularies.subword_sampling import SplittingProcess, State

MERGES = {piece: -float(rank) for rank, piece in enumerate(["ab", "abc", "bc", "cd", "abcd"])}
UNIGRAMS = {"a": -2.0, "b": -1.0, "c": -3.0, "ab": -2.5, "bc": -1.5, "abc": -4.0}


def probabilities(process: SplittingProcess, word: str) -> dict[State, float]:
    """Of every split that a process may give."""
    found: dict[State, float] = defaultdict(float)
    left = [(process.start(word), 1.0)]
    while left:
        state, reached = left.pop()
        bounds = [0.0, *process.bounds(state)]
        for way, (lower, upper) in enumerate(pairwise(bounds)):
            left.append((process.follow(state, way), reached * (upper - lower)))
        if bounds[-1] < 1:
            found[process.pieces(state)] += reached * (1 - bounds[-1])
    return found
