"""Stores of given pairs of ids, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dragoman.data.store import Store, StoredPart, StoreWriter, write_manifest

Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]


def write_store(
    directory: Path,
    pairs: Pairs,
    weights: Sequence[tuple[int, float]] = (),
    languages: Sequence[tuple[str, str]] = (),
) -> Store:
    """Write a store of ``pairs``.

    Args:
        directory: where.
        pairs: the ids of all parts.
        weights: each part's size and weight.
        languages: each part's source and target language.
    """

    def flat(sentences: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        ids = np.array([i for sentence in sentences for i in sentence], dtype=np.int32)
        return ids, np.array([len(sentence) for sentence in sentences], dtype=np.int64)

    directory.mkdir(parents=True, exist_ok=True)
    with StoreWriter(directory) as writer:
        for first in range(0, len(pairs), 7):  # several appends, not of equal size
            sources, targets = zip(*pairs[first : first + 7], strict=True)
            writer.append(*flat(sources), *flat(targets))
    parts = []
    start = 0
    for number, (size, weight) in enumerate(weights or [(len(pairs), 1.0)]):
        known = StoredPart(name="part", start=start, stop=start + size, weight=weight)
        if languages:
            source, target = languages[number]
            known = known.model_copy(update={"source_language": source, "target_language": target})
        parts.append(known)
        start += size
    write_manifest(directory, writer.manifest(parts, 1000, "settings"))
    return Store.open(directory)


def random_pairs(count: int, seed: int = 0, longest: int = 60) -> list[tuple[list[int], list[int]]]:
    """Pairs whose lengths are spread and related as those of real sentences are."""
    chance = np.random.default_rng(seed)
    sources = chance.lognormal(2.5, 0.5, count)
    targets = sources * chance.lognormal(0, 0.15, count)

    def ids(length: float) -> list[int]:
        return chance.integers(4, 1000, int(np.clip(length, 1, longest))).tolist()

    return [(ids(s), ids(t)) for s, t in zip(sources, targets, strict=True)]
