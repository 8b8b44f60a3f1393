"""A mapping and a dictionary that improve one another (Artetxe et al. 2018, arXiv:1805.06297).

A dictionary gives an orthogonal mapping, and the mapping a larger dictionary: for each of the most
frequent words of either language, the nearest word of the other by CSLS.  At first only a random
tenth of the candidates is considered, so that learning can escape a poor start.  The share doubles
whenever nothing has improved for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from dragoman.core.config import Config
from dragoman.techniques.embedding.linear_maps import WordPairs, orthogonal_map, reweighted
from dragoman.techniques.embedding.nearest_vectors import (
    NEIGHBOURS,
    Rows,
    mean_of_largest,
    neighbourhood,
    similarity_blocks,
)
from dragoman.text.word_vectors import Matrix

_IMPROVEMENT = 1e-6  # of the mean similarity; smaller ones do not count
_GROWTH = 2.0  # of the share of candidates that are considered
_FARTHER = np.float32(10)  # than any word: for candidates left out, unless all are


class SelfLearningConfig(Config):
    """How a mapping is learned; defaults from the paper (section 4)."""

    words: int = Field(20_000, ge=10)
    """Most frequent words of each language that the dictionary is induced from."""
    neighbours: int = Field(NEIGHBOURS, ge=1)
    """k of CSLS."""
    kept: float = Field(0.1, gt=0, le=1)
    """Share of the candidates that are considered at first."""
    patience: int = Field(50, ge=1)
    """Iterations without improvement until twice as many are considered, or learning ends."""
    seed: int = Field(1, ge=0)
    """Of the random candidates."""


@dataclass(frozen=True)
class Mapped:
    """The result of self-learning."""

    source: Matrix
    """Mapped vectors of the source language."""
    target: Matrix
    pairs: WordPairs
    """The last dictionary."""
    iterations: int
    similarity: float
    """Mean similarity of the nearest words, over both directions."""


def self_learn(
    x: Matrix,
    z: Matrix,
    pairs: WordPairs,
    config: SelfLearningConfig,
    progress: Callable[[int], object] = lambda iteration: None,
) -> Mapped:
    """Map two languages into one space, beginning from a dictionary.

    Args:
        x: normalised vectors of the source language, the most frequent words first.
        z: of the target language.
        pairs: the first dictionary.
        config: how to learn.
        progress: called with the number of iterations so far.
    """
    rng = np.random.default_rng(config.seed)
    kept, best, improved_at, iteration = config.kept, -np.inf, 0, 0
    frequent_x, frequent_z = x[: config.words], z[: config.words]
    while True:
        iteration += 1
        mapping = orthogonal_map(x[pairs.source], z[pairs.target])
        pairs, similarity = _induced(frequent_x @ mapping, frequent_z, kept, config, rng)
        progress(iteration)
        if similarity >= best + _IMPROVEMENT:
            best, improved_at = similarity, iteration
        elif iteration - improved_at >= config.patience:
            if kept >= 1:
                break
            kept, improved_at = min(1.0, kept * _GROWTH), iteration
    mapped_x, mapped_z = reweighted(x, z, pairs)
    return Mapped(mapped_x, mapped_z, pairs, iteration, similarity)


def map_once(x: Matrix, z: Matrix, pairs: WordPairs) -> Mapped:
    """Map two languages with a given dictionary, without learning a larger one."""
    mapped_x, mapped_z = reweighted(x, z, pairs)
    return Mapped(mapped_x, mapped_z, pairs, 0, float("nan"))


def _induced(
    x: Matrix, z: Matrix, kept: float, config: SelfLearningConfig, rng: np.random.Generator
) -> tuple[WordPairs, float]:
    """The nearest words in both directions by CSLS, and their mean similarity."""
    hubs_z = neighbourhood(z, x, config.neighbours)
    forward, hubs_x, there = _nearest(
        x, z, hubs_z, kept=kept, neighbours=config.neighbours, rng=rng
    )
    backward, _, back = _nearest(z, x, hubs_x, kept=kept, neighbours=config.neighbours, rng=rng)
    pairs = WordPairs(
        np.concatenate([np.arange(len(x)), backward]),
        np.concatenate([forward, np.arange(len(z))]),
    )
    return pairs, (there + back) / 2


def _nearest(
    x: Matrix,
    z: Matrix,
    hubness: Matrix,
    *,
    kept: float,
    neighbours: int,
    rng: np.random.Generator,
) -> tuple[Rows, Matrix, float]:
    """For each row of x: the nearest row of z by CSLS, and its own neighbourhood.

    Also returns the mean similarity to the nearest rows among all rows, by similarity alone.
    """
    found = np.empty(len(x), dtype=np.int64)
    own = np.empty(len(x), dtype=np.float32)
    total = 0.0
    for rows, similarity in similarity_blocks(x, z):
        own[rows] = mean_of_largest(similarity, neighbours)
        total += float(similarity.max(axis=1).sum(dtype=np.float64))
        similarity -= hubness / 2  # noqa: PLW2901 - in place
        if kept < 1:
            similarity[rng.random(similarity.shape, dtype=np.float32) >= kept] -= _FARTHER
        found[rows] = similarity.argmax(axis=1)
    return found, own, total / len(x)
