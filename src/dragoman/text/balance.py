"""Text balanced by language: a small language gets more than its share of the lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from dragoman.text.examples import Example
from dragoman.text.pairs import Pair
from dragoman.text.reservoir import Reservoir

Group = TypeVar("Group")
Weighted = list[tuple[str, float]]
"""Lines, each with its weight."""
WeightedPair = tuple[tuple[str, str] | Pair | Example, float]
"""A source and its target, with their weight."""


def tempered(sizes: Mapping[Group, float], temperature: float) -> dict[Group, float]:
    """Weights of groups that make their shares proportional to their sizes to the power 1/T.

    The largest group has the weight 1. With T = 1 all groups have this weight, and the larger T is,
    the closer all groups come to equal shares (Arivazhagan et al. 2019, arXiv:1907.05019, section
    4.2).

    Args:
        sizes: size of each group, above 0.
        temperature: T, at least 1.
    """
    largest = max(sizes.values(), default=1.0)
    return {
        group: float((largest / size) ** (1 - 1 / temperature)) for group, size in sizes.items()
    }


def balanced_lines(
    pairs: Iterable[WeightedPair],
    temperature: float,
    most: int,
    seed: int,
    *,
    joint: bool,
) -> tuple[Weighted, Weighted]:
    """The lines of each side of at most ``most`` pairs, weighted by their languages.

    Each direction gets the same number of places in the sample, so that small ones are kept whole.
    The weights then restore the original size of each direction, tempered by language.

    Args:
        pairs: examples with their weights; pairs without languages count as one direction.
        temperature: see :func:`tempered`.
        most: maximum number of pairs to keep.
        seed: seed of the sample.
        joint: whether a language is counted over both sides together.
    """
    samples = _sampled(pairs, most, seed)
    sides: list[list[tuple[str, str, float]]] = [[], []]
    for languages, sample in samples.items():
        scale = sample.seen / len(sample.items)
        for pair, weight in sample.items:
            for text, language, lines in zip(pair[:2], languages, sides, strict=True):
                if text:
                    lines.append((text, language, weight * scale))
    sizes: list[dict[str, float]] = [defaultdict(float), defaultdict(float)]
    for side, lines in enumerate(sides):
        for _, language, weight in lines:
            sizes[0 if joint else side][language] += weight
    factors = [tempered(one, temperature) for one in sizes]
    weighted = [
        [(line, weight * factors[0 if joint else side][language]) for line, language, weight in one]
        for side, one in enumerate(sides)
    ]
    return weighted[0], weighted[1]


def _sampled(
    pairs: Iterable[WeightedPair], most: int, seed: int
) -> dict[tuple[str, str], Reservoir[WeightedPair]]:
    """A sample of each direction; all directions share the ``most`` places equally.

    The number of directions is not known in advance, so samples shrink as new ones appear.
    """
    samples: dict[tuple[str, str], Reservoir[WeightedPair]] = {}
    for item in pairs:
        pair = item[0]
        languages = (
            (pair.source_language, pair.target_language)
            if isinstance(pair, Example)
            else ("source", "target")
        )
        if languages not in samples:
            room = max(1, most // (len(samples) + 1))
            for sample in samples.values():
                sample.shrink(room)
            samples[languages] = Reservoir(room, seed)
        samples[languages].add(item)
    return samples
