"""Stores and corpora that the tests of this room share."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.store import Manifest, Store, StoredPart, StoreWriter, write_manifest
from dragoman.text.corpus import CorpusPart
from dragoman.text.vocabulary import Vocabularies, VocabularyConfig, train_vocabularies

Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]

WORDS = ("ein", "das", "haus", "baum", "hund", "katze", "läuft", "schläft", "gern", "heute", "nie")


def write_store(directory: Path, pairs: Pairs, weights: Sequence[tuple[int, float]] = ()) -> Store:
    """Write a store of ``pairs``; ``weights`` gives each part's size and weight."""

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
    for size, weight in weights or [(len(pairs), 1.0)]:
        parts.append(StoredPart(name="part", start=start, stop=start + size, weight=weight))
        start += size
    manifest = Manifest(
        format=1,
        pairs=writer.pairs,
        max_pieces=1000,
        parts=parts,
        fingerprint="f",
        settings="s",
        inputs=[],
        files=writer.files(),
    )
    write_manifest(directory, manifest)
    return Store.open(directory)


def random_pairs(count: int, seed: int = 0, longest: int = 60) -> list[tuple[list[int], list[int]]]:
    """Pairs whose lengths are spread and related as those of real sentences are."""
    chance = np.random.default_rng(seed)
    sources = chance.lognormal(2.5, 0.5, count)
    targets = sources * chance.lognormal(0, 0.15, count)

    def ids(length: float) -> list[int]:
        return chance.integers(4, 1000, int(np.clip(length, 1, longest))).tolist()

    return [(ids(s), ids(t)) for s, t in zip(sources, targets, strict=True)]


@pytest.fixture(scope="session")
def store_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Store]:
    """A function that writes a store of given pairs, each in a new directory."""
    return lambda pairs, weights=(): write_store(tmp_path_factory.mktemp("store"), pairs, weights)


@pytest.fixture(scope="session")
def pairs_of() -> Callable[..., Pairs]:
    """A function that makes pairs of ids with lengths like those of real sentences."""
    return random_pairs


def sentences(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 12))) for _ in range(count)]


@pytest.fixture
def corpus_of(tmp_path: Path) -> Callable[..., CorpusPart]:
    """A function that writes ``count`` pairs of random sentences, in a folder of given name."""

    def corpus(count: int, name: str = "corpus", weight: float = 1.0) -> CorpusPart:
        part = write_corpus(tmp_path / name, sentences(count, 3), sentences(count, 4))
        return part.model_copy(update={"weight": weight})

    return corpus


def write_corpus(folder: Path, sources: Sequence[str], targets: Sequence[str]) -> CorpusPart:
    """Two plain files in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("train.en", sources), ("train.de", targets)):
        (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return CorpusPart(source=str(folder / "train.en"), target=str(folder / "train.de"))


@pytest.fixture(scope="session")
def vocabularies() -> Vocabularies:
    pairs = list(zip(sentences(500, 1), sentences(500, 2), strict=True))
    return train_vocabularies(pairs, VocabularyConfig(size=80), seed=1)
