"""Splitting words at random, differently each time (subword regularisation).

BPE-dropout: Provilkov et al. 2020 (arXiv:1910.13267), algorithm 1.  Unigram: Kudo 2018
(arXiv:1804.10959), section 3.2, by forward filtering and backward sampling.

sentencepiece has both, but since version 0.2.2 the same seed gives other splits in each process,
and a resumed run must see what an uninterrupted one would have seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from random import Random

Split = tuple[str, ...]
Splitter = Callable[[str, Random], Split]
"""From a word to pieces of the vocabulary, drawn at random."""


def bpe_dropout(scores: Mapping[str, float], probability: float) -> Splitter:
    """Repeatedly merges the best pair, skipping each pair with ``probability``.

    Args:
        scores: scores of all pieces that a merge may produce; higher ones are merged first.
        probability: probability of skipping a pair; 1 leaves single characters.
    """

    def split(word: str, rng: Random) -> Split:
        symbols = list(word)
        while True:
            seen = [
                (scores[left + right], -place)
                for place, (left, right) in enumerate(pairwise(symbols))
                if left + right in scores and rng.random() >= probability
            ]
            if not seen:
                return tuple(symbols)
            place = -max(seen)[1]
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]

    return split


def unigram_sampling(scores: Mapping[str, float], alpha: float) -> Splitter:
    """Draws a split with a probability proportional to that of its pieces to the power ``alpha``.

    Args:
        scores: log-probability of every piece.
        alpha: 0 makes all splits equally likely, large values the best one near certain.
    """
    longest = max(map(len, scores), default=1)

    def split(word: str, rng: Random) -> Split:
        totals = [0.0]  # log of the summed weights of all splits of the first letters
        arriving: list[list[tuple[int, float]]] = [[]]
        for end in range(1, len(word) + 1):
            ways = [
                (start, totals[start] + alpha * scores[word[start:end]])
                for start in range(max(0, end - longest), end)
                if word[start:end] in scores and totals[start] > -math.inf
            ]
            arriving.append(ways)
            totals.append(_log_sum([weight for _, weight in ways]))
        pieces: list[str] = []
        end = len(word)
        while end:
            starts, weights = zip(*arriving[end], strict=True)
            bounds = list(accumulate(math.exp(weight - totals[end]) for weight in weights))
            start = rng.choices(starts, cum_weights=bounds)[0]
            pieces.append(word[start:end])
            end = start
        return tuple(reversed(pieces))

    return split


def _log_sum(values: Sequence[float]) -> float:
    if not values:
        return -math.inf
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
