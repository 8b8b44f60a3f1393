"""Stores and corpora that the tests of this room share."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from stores import Pairs, random_pairs, write_store

from dragoman.data.store import Store
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

WORDS = ("ein", "das", "haus", "baum", "hund", "katze", "läuft", "schläft", "gern", "heute", "nie")


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
