"""Splitting words at random, differently each time (subword regularisation).

BPE-dropout: Provilkov et al. 2020 (arXiv:1910.13267), algorithm 1.  Unigram: Kudo 2018
(arXiv:1804.10959), section 3.2, by forward filtering and backward sampling.

Both go from one state of a word to the next, and what comes next depends on the present state
alone.  So :mod:`dragoman.text.vocabularies.split_drawing` keeps the states that were met with the
ways that lead on from them, and asks about each only once.

sentencepiece has both, but since version 0.2.2 the same seed gives other splits in each process,
and a resumed run must see what an uninterrupted one would have seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Protocol

State = tuple[str, ...]
"""How far a word is split."""


class SplittingProcess(Protocol):
    """Splits a word step by step, each drawn at random."""

    def start(self, word: str) -> State:
        """Where a word begins."""

    def whole(self, piece: str) -> State:
        """Where a piece ends that is never split."""

    def bounds(self, state: State) -> Sequence[float]:
        """Of each way that leads on, the summed probability of it and of those before it.

        With the probability that the last one lacks to 1, nothing comes next.
        """

    def follow(self, state: State, way: int) -> State:
        """Where a way leads, by its number."""

    def pieces(self, state: State) -> State:
        """The pieces of a word in a state after which nothing came."""


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
        """The merges from the best on, each of which is made if all better ones are skipped."""
        merges = len(self._places(state))
        while len(self._bounds) < merges:
            self._bounds.append(1 - self._probability ** (len(self._bounds) + 1))
        return self._bounds[:merges]

    def follow(self, state: State, way: int) -> State:
        """With the best pair merged after those that are skipped."""
        place = self._places(state)[way]
        return (*state[:place], state[place] + state[place + 1], *state[place + 2 :])

    def pieces(self, state: State) -> State:
        """Its symbols."""
        return state

    def _merges(self, state: State) -> list[int]:
        """The places of the first symbols of pairs that may be merged, the best first."""
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

    A state is what is not split yet, the front of the word, and the pieces behind it.

    Args:
        scores: log-probability of every piece.
        alpha: 0 makes all splits equally likely, large values the best one near certain.
    """

    def __init__(self, scores: Mapping[str, float], alpha: float) -> None:
        self._scores, self._alpha = scores, alpha
        self._longest = max(map(len, scores), default=1)
        self._log_weights = lru_cache(maxsize=4096)(self._sums)
        self._latest = "", [0.0]

    def start(self, word: str) -> State:
        """All of it."""
        return (word,)

    def whole(self, piece: str) -> State:
        """Nothing is left to split."""
        return ("", piece)

    def bounds(self, state: State) -> Sequence[float]:
        """The pieces that may end what is not split yet, from the longest on."""
        rest = state[0]
        totals = self._totals(rest)
        shares = [
            math.exp(totals[start] + self._weight(rest[start:]) - totals[len(rest)])
            for start in self._starts(rest, totals)
        ]
        return [*accumulate(shares[:-1]), 1.0] if shares else []  # 1 in spite of rounding

    def follow(self, state: State, way: int) -> State:
        """With one more piece split from what was left."""
        rest, *behind = state
        start = self._starts(rest, self._totals(rest))[way]
        return (rest[:start], rest[start:], *behind)

    def pieces(self, state: State) -> State:
        """All but what is not split, which is nothing at the end."""
        return state[1:]

    def _totals(self, rest: str) -> list[float]:
        """:meth:`_sums` of ``rest``, perhaps with more: those of a word serve all its fronts."""
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
        """Where a piece may begin that ends the word."""
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
