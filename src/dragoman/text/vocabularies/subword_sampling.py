"""Splitting words at random, differently each time (subword regularisation).

BPE-dropout: Provilkov et al. 2020 (arXiv:1910.13267), algorithm 1.  Unigram: Kudo 2018
(arXiv:1804.10959), section 3.2, by forward filtering and backward sampling.

Both go from one state of a word to the next, and the next state depends only on the present one.
:mod:`dragoman.text.vocabularies.split_drawing` therefore stores each state with the ways that lead
on, and computes them once.

sentencepiece has both, but since version 0.2.2 the same seed gives other splits in each process. A
resumed run must see the same splits as an uninterrupted one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Protocol

State = tuple[str, ...]
"""Progress of the split of a word."""


class SplittingProcess(Protocol):
    """Splits a word in random steps."""

    def start(self, word: str) -> State:
        """The initial state of a word."""

    def whole(self, piece: str) -> State:
        """The final state of a piece that is never split."""

    def bounds(self, state: State) -> Sequence[float]:
        """For each way that leads on, the summed probability of it and of all ways before it.

        With the remaining probability, the state is final.
        """

    def follow(self, state: State, way: int) -> State:
        """The state to which a way leads, given its number."""

    def pieces(self, state: State) -> State:
        """The pieces of a word in a final state."""


class BpeDropout:
    """Repeatedly merges the best pair, skipping each pair with ``probability``.

    A state is the word's symbols.

    Args:
        scores: scores of all pieces that a merge may produce; higher ones are merged first.
        probability: probability of skipping a pair; 1 leaves single characters.
    """

    def __init__(self, scores: Mapping[str, float], probability: float) -> None:
        self._scores, self._probability = scores, probability
        self._bounds: list[float] = []
        self._places = lru_cache(maxsize=4096)(self._merges)

    def start(self, word: str) -> State:
        """Its characters."""
        return tuple(word)

    def whole(self, piece: str) -> State:
        """A single symbol."""
        return (piece,)

    def bounds(self, state: State) -> Sequence[float]:
        """The merges, best first. Each is made if all better merges are skipped."""
        merges = len(self._places(state))
        while len(self._bounds) < merges:
            self._bounds.append(1 - self._probability ** (len(self._bounds) + 1))
        return self._bounds[:merges]

    def follow(self, state: State, way: int) -> State:
        """The state after skipping ``way`` pairs and merging the best of the others."""
        place = self._places(state)[way]
        return (*state[:place], state[place] + state[place + 1], *state[place + 2 :])

    def pieces(self, state: State) -> State:
        """Its symbols."""
        return state

    def _merges(self, state: State) -> list[int]:
        """Positions of the first symbols of pairs that may be merged, the best pair first."""
        scores, found = self._scores, []
        for place, (left, right) in enumerate(pairwise(state)):
            score = scores.get(left + right)
            if score is not None:
                found.append((-score, place))
        found.sort()
        return [place for _, place in found]


def merge_all(word: str, scores: Mapping[str, float]) -> State:
    """The pieces of a word after all merges, the best pair first."""
    process = BpeDropout(scores, 0.0)
    state = process.start(word)
    while process.bounds(state):
        state = process.follow(state, 0)
    return state


class UnigramSampling:
    """Draws a split with a probability proportional to that of its pieces to the power ``alpha``.

    A state is the unsplit front of the word, and the pieces behind it.

    Args:
        scores: log-probability of every piece.
        alpha: 0 makes all splits equally likely, large values make the best split almost certain.
    """

    def __init__(self, scores: Mapping[str, float], alpha: float) -> None:
        self._scores, self._alpha = scores, alpha
        self._longest = max(map(len, scores), default=1)
        self._log_weights = lru_cache(maxsize=4096)(self._sums)
        self._latest = "", [0.0]

    def start(self, word: str) -> State:
        """The whole word, unsplit."""
        return (word,)

    def whole(self, piece: str) -> State:
        """The state with nothing left to split."""
        return ("", piece)

    def bounds(self, state: State) -> Sequence[float]:
        """The pieces that may end the unsplit front, the longest first."""
        rest = state[0]
        totals = self._totals(rest)
        shares = [
            math.exp(totals[start] + self._weight(rest[start:]) - totals[len(rest)])
            for start in self._starts(rest, totals)
        ]
        return [*accumulate(shares[:-1]), 1.0] if shares else []  # 1 despite rounding

    def follow(self, state: State, way: int) -> State:
        """The state with one more piece split off."""
        rest, *behind = state
        start = self._starts(rest, self._totals(rest))[way]
        return (rest[:start], rest[start:], *behind)

    def pieces(self, state: State) -> State:
        """All but the unsplit front, which is empty at the end."""
        return state[1:]

    def _totals(self, rest: str) -> list[float]:
        """:meth:`_sums` of ``rest``, possibly with more: those of a word serve all its fronts."""
        word, totals = self._latest
        if not word.startswith(rest):
            totals = self._log_weights(rest)
            self._latest = rest, totals
        return totals

    def _sums(self, word: str) -> list[float]:
        """The log of the summed weights of all splits of the first letters, from none to all."""
        totals = [0.0]
        for end in range(1, len(word) + 1):
            front = word[:end]
            starts = self._starts(front, totals)
            totals.append(_log_sum([totals[at] + self._weight(front[at:]) for at in starts]))
        return totals

    def _starts(self, word: str, totals: Sequence[float]) -> list[int]:
        """Possible first positions of the last piece of the word."""
        return [
            start
            for start in range(max(0, len(word) - self._longest), len(word))
            if word[start:] in self._scores and totals[start] > -math.inf
        ]

    def _weight(self, piece: str) -> float:
        return self._alpha * self._scores[piece]


def _log_sum(values: Sequence[float]) -> float:
    if not values:
        return -math.inf
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
