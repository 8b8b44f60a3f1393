"""How many n-grams every two of several texts have in common, counted for all of them at once.

A text that has an n-gram c times has its first, second, ... c-th occurrence.  Two texts share an
n-gram as often as they share such occurrences, so that the clipped counts of BLEU and chrF, the
sum of min(c, c'), are products of matrices of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_CELLS = 1 << 24  # of a matrix of occurrences, 4 bytes each; more n-grams than that come in turns


@dataclass(frozen=True)
class SharedNgrams:
    """The n-grams of texts, from one symbol to several; axis 0 is the length of n-grams."""

    totals: Integers
    """How many each text has, ``(orders, texts)``."""
    shared: Floats
    """How many two texts share, repeated ones as often as the text with fewer repeats them:
    ``(orders, rows, columns)``."""


def share_ngrams(
    symbols: Integers,
    lengths: Integers,
    orders: int,
    rows: Sequence[int] | Integers,
    columns: Sequence[int] | Integers,
) -> SharedNgrams:
    """Count what some texts share with others.

    Args:
        symbols: of all texts, one after the other, such as code points or numbers of words.
        lengths: of the texts, in symbols.
        orders: maximum length of n-grams.
        rows: numbers of the texts that are compared ...
        columns: ... with these texts.
    """
    rows, columns = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
    texts = len(lengths)
    owner = np.repeat(np.arange(texts), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(symbols))  # to the text's end
    names, first = np.unique(symbols, return_inverse=True)
    places, ngrams = np.arange(len(symbols)), first
    totals = np.maximum(lengths - np.arange(orders)[:, None], 0)
    shared = np.zeros((orders, len(rows), len(columns)))
    for order in range(1, orders + 1):
        if order > 1:
            long_enough = left[places] >= order
            places = places[long_enough]
            keys = ngrams[long_enough] * len(names) + first[places + order - 1]
            ngrams = np.unique(keys, return_inverse=True)[1]
        if not len(places):
            break
        for occurs in _occurrences(ngrams, owner[places], texts):
            shared[order - 1] += occurs[rows] @ occurs[columns].T
    same = rows[:, None] == columns  # what a text alone has was not counted
    shared[:, same] = totals[:, np.broadcast_to(rows[:, None], same.shape)[same]]
    return SharedNgrams(totals, shared)


def _occurrences(ngrams: Integers, owner: Integers, texts: int) -> Iterator[NDArray[np.float32]]:
    """Which text has which occurrence of the n-grams of one length; those of one text are left out.

    ``ngrams`` and ``owner`` are the n-gram at each place, and the text that the place is in.

    Returns:
        Matrices of zeros and ones, ``(texts, occurrences)``, as many as memory requires.
    """
    keys = np.sort(ngrams * texts + owner)
    starts, counts = _runs(keys)
    occurrence = np.arange(len(keys)) - np.repeat(starts, counts)
    named = (keys // texts) * (int(occurrence.max()) + 1) + occurrence
    _, place, frequency = np.unique(named, return_inverse=True, return_counts=True)
    several = frequency > 1
    inside = several[place]
    place, owner = (np.cumsum(several) - 1)[place[inside]], (keys % texts)[inside]
    total, width = int(several.sum()), max(1, _CELLS // texts)
    for begin in range(0, total, width):
        within = (place >= begin) & (place < begin + width)
        occurs = np.zeros((texts, min(width, total - begin)), dtype=np.float32)
        occurs[owner[within], place[within] - begin] = 1
        yield occurs


def _runs(values: Integers) -> tuple[Integers, Integers]:
    """Beginning and length of each run of equal values."""
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return starts, np.diff(np.append(starts, len(values)))
