"""Which words of two sentences translate each other, learned from the pairs themselves.

The model is that of fast_align (Dyer, Chahuneau and Smith 2013, "A Simple, Fast, and Effective
Reparameterization of IBM Model 2"): each target word is made by one source word or by none, source
words near the diagonal are likelier, and the lexical probabilities have a sparse Dirichlet prior
(variational Bayes).  Both directions are trained and their links combined by grow-diag-final-and
(Koehn, Och and Marcu 2003; in Moses).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dragoman.text.pharaoh import Link

Words = Sequence[Hashable]
"""Words, or the ids of pieces."""
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_NOTHING = 0.08
"""Probability that a target word comes from no source word: p0 of fast_align."""
_TENSION = 4.0
"""How fast the probability falls with the distance from the diagonal: lambda, fast_align's
default."""
_PRIOR = 0.01
"""alpha of the Dirichlet prior, fast_align's default."""
ROUNDS = 5
"""Of expectation maximisation in each direction, fast_align's default."""
_BLOCK_CELLS = 1_000_000
"""Cells, source words times target words, that are computed at once."""
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True)
class Aligned:
    """The links of one pair: those of both directions, and all that seem right."""

    sure: frozenset[Link]
    """Links that both directions agree on."""
    all: frozenset[Link]
    """Those and their neighbours, by grow-diag-final-and."""


def align(
    pairs: Sequence[tuple[Words, Words]],
    *,
    rounds: int = ROUNDS,
    progress: Callable[[int], object] = lambda _: None,
) -> Iterator[Aligned]:
    """The links of each pair, one after another, after learning from all of them.

    The result depends on nothing but the pairs: nothing is drawn.

    Args:
        pairs: source words and target words; a side may be empty, and then has no links.
        rounds: of expectation maximisation in each direction, as in fast_align.
        progress: called with the number of rounds done so far, of ``2 * rounds``.
    """
    flipped = [(target, source) for source, target in pairs]
    forward = _Direction(pairs).learn(rounds, progress)
    backward = _Direction(flipped).learn(rounds, lambda done: progress(rounds + done))
    for (source, target), one, other in zip(pairs, forward.links(), backward.links(), strict=True):
        yield symmetrised(one, {(i, j) for j, i in other}, len(source), len(target))


def expected_links(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, rounds: int = ROUNDS
) -> tuple[Ints, Ints, Floats]:
    """How often each source word is expected to have made each target word, in all pairs.

    Links themselves are the likeliest cells alone; here every cell counts as far as it is likely.

    Args:
        pairs: numbers of source words and target words.
        rounds: of expectation maximisation, as in :func:`align`.

    Returns:
        Source words, target words and counts of all combinations, ``(combinations,)`` each.
    """
    makers, made, counts = _Direction(pairs).learn(rounds, lambda _: None).expected()
    words = ({word: None for pair in pairs for word in pair[side]} for side in (0, 1))
    source, target = (np.fromiter(numbers, np.int64, len(numbers)) for numbers in words)
    from_word = makers > 0  # 0 is none
    return source[makers[from_word] - 1], target[made[from_word]], counts[from_word]


def symmetrised(one: set[Link], other: set[Link], source: int, target: int) -> Aligned:
    """The links of two directions combined by grow-diag-final-and.

    Args:
        one: links of the source-to-target direction.
        other: those of the opposite direction, source word first.
        source: number of source words.
        target: number of target words.
    """
    sure, either = one & other, one | other
    found = set(sure)
    sources, targets = {i for i, _ in found}, {j for _, j in found}

    def add(link: Link) -> None:
        found.add(link)
        sources.add(link[0])
        targets.add(link[1])

    grown = True
    while grown:
        grown = False
        for i, j in sorted(found):
            for down, right in _NEIGHBOURS:
                new = (i + down, j + right)
                is_free = new[0] not in sources or new[1] not in targets
                if new in either and new not in found and is_free:
                    add(new)
                    grown = True
    for links in (one, other):
        for link in sorted(links):
            if link[0] not in sources and link[1] not in targets:
                add(link)
    assert all(0 <= i < source and 0 <= j < target for i, j in found), "links of these words"
    return Aligned(frozenset(sure), frozenset(found))


class _Direction:
    """Each target word is made by a source word, or by none."""

    def __init__(self, pairs: Sequence[tuple[Words, Words]]) -> None:
        self._pairs = pairs
        sources = _numbers(word for source, _ in pairs for word in source)
        targets = _numbers(word for _, target in pairs for word in target)
        # The word 0 is none: what makes the target words that no source word makes.
        self._sources = [[0, *(sources[word] + 1 for word in source)] for source, _ in pairs]
        self._targets = [[targets[word] for word in target] for _, target in pairs]
        self._width = max(1, len(targets))
        self._learned: tuple[list[_Block], Floats] = [], np.zeros(0)
        self._keys: Ints = np.zeros(0, np.int64)

    def learn(self, rounds: int, progress: Callable[[int], object]) -> _Direction:
        """Estimate the lexical probabilities."""
        blocks = list(self._blocks())
        keys = np.unique(np.concatenate([*(block.keys for block in blocks), np.zeros(0, np.int64)]))
        makers = keys // self._width
        for block in blocks:
            block.number(keys)
        probabilities = np.full(len(keys), 1.0 / self._width)
        for done in range(rounds):
            counts = np.zeros(len(keys))
            for block in blocks:
                counts += np.bincount(block.places, block.shares(probabilities), len(keys))
            totals = np.maximum(np.bincount(makers, counts + _PRIOR), _PRIOR)
            probabilities = np.exp(_digamma(counts + _PRIOR) - _digamma(totals)[makers])
            progress(done + 1)
        self._learned, self._keys = (blocks, probabilities), keys
        return self

    def expected(self) -> tuple[Ints, Ints, Floats]:
        """Expected counts of all combinations: source word (0 is none), target word, count."""
        blocks, probabilities = self._learned
        counts = np.zeros(len(self._keys))
        for block in blocks:
            counts += np.bincount(block.places, block.shares(probabilities), len(self._keys))
        return self._keys // self._width, self._keys % self._width, counts

    def links(self) -> Iterator[set[Link]]:
        """The likeliest source word of each target word, pair by pair."""
        blocks, probabilities = self._learned
        for block in blocks:
            yield from block.best(block.shares(probabilities))

    def _blocks(self) -> Iterator[_Block]:
        """The pairs in blocks of bounded size."""
        taken: list[tuple[list[int], list[int]]] = []
        cells = 0
        for pair in zip(self._sources, self._targets, strict=True):
            taken.append(pair)
            cells += len(pair[0]) * len(pair[1])
            if cells >= _BLOCK_CELLS:
                yield _Block(taken, self._width)
                taken, cells = [], 0
        if taken:
            yield _Block(taken, self._width)


class _Block:
    """Cells of some pairs: every target word with every source word, and with none.

    A column is a target word; its cells follow one another.
    """

    def __init__(self, pairs: Sequence[tuple[list[int], list[int]]], width: int) -> None:
        self._lengths = [(len(source), len(target)) for source, target in pairs]
        cells, priors = [], []
        for source, target in pairs:
            made = np.asarray(target, np.int64)[:, None]
            cells.append((np.asarray(source, np.int64)[None, :] * width + made).reshape(-1))
            priors.append(_diagonal(len(source) - 1, len(target)).reshape(-1))
        self.keys: Ints = np.concatenate(cells)
        """A number for each cell, of its two words; empty once the cells have their places."""
        self.places: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        """The place of each cell among all combinations of two words."""
        self._prior = np.concatenate(priors).astype(np.float32)
        heights = [source for source, target in self._lengths for _ in range(target)]
        self._heights = np.asarray(heights, np.int64)  # cells of each column
        self._starts = np.concatenate([[0], np.cumsum(self._heights)[:-1]]).astype(np.int64)

    def number(self, keys: Ints) -> None:
        """Find the place of each cell among ``keys``, which are sorted."""
        self.places = np.searchsorted(keys, self.keys).astype(np.int32)
        self.keys = np.zeros(0, np.int64)

    def shares(self, probabilities: Floats) -> Floats:
        """How likely each cell is the one that makes its target word: they sum to one a column.

        Args:
            probabilities: of all combinations of two words.
        """
        if not len(self.places):
            return np.zeros(0)
        scores = probabilities[self.places] * self._prior
        totals = np.add.reduceat(scores, self._starts)
        return np.asarray(scores / np.repeat(np.maximum(totals, 1e-300), self._heights))

    def best(self, shares: Floats) -> Iterator[set[Link]]:
        """Links of each pair from its likeliest cells, in the direction of the model."""
        place = 0
        for source, target in self._lengths:
            cells = shares[place : place + source * target].reshape(target, source)
            place += source * target
            chosen = cells.argmax(1).tolist() if target else []
            yield {(i - 1, j) for j, i in enumerate(chosen) if i}


def _diagonal(source: int, target: int) -> Floats:
    """Prior of each source word, none first, for each target word: ``(target, 1 + source)``."""
    prior = np.full((target, source + 1), _NOTHING)
    if source:
        down = (np.arange(source) + 0.5) / source
        right = (np.arange(target) + 0.5) / max(1, target)
        near = np.exp(-_TENSION * np.abs(down[None, :] - right[:, None]))
        prior[:, 1:] = (1 - _NOTHING) * near / near.sum(1, keepdims=True)
    return prior


def _digamma(values: Floats) -> Floats:
    """The logarithmic derivative of the gamma function (asymptotic series above 6)."""
    shift = sum(1.0 / (values + k) for k in range(6))
    square = 1.0 / (values + 6) ** 2
    series = square * (1 / 12 - square * (1 / 120 - square / 252))
    return np.asarray(np.log(values + 6) - 0.5 / (values + 6) - series - shift)


def _numbers(words: Iterable[Hashable]) -> dict[Hashable, int]:
    """A number for each distinct word, from 0, in the order of appearance."""
    return {word: number for number, word in enumerate(dict.fromkeys(words))}
