"""Vocabularies of every kind, trained on random sentences, for tests of text."""

from __future__ import annotations

import random

import pytest

from dragoman.text.formats import Pair
from dragoman.text.vocabularies import Vocabulary, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

ENGLISH = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "internationalisation"]
GERMAN = ["der", "schnelle", "braune", "Fuchs", "springt", "über", "faulen", "Hund", "Übersetzung"]


def corpus(count: int = 200) -> list[Pair]:
    """Sentences of random words; enough for a few hundred pieces."""
    chance = random.Random(7)

    def sentence(words: list[str]) -> str:
        return " ".join(chance.choices(words, k=7))

    return [Pair(sentence(ENGLISH), sentence(GERMAN), line) for line in range(count)]


KINDS = [
    VocabularyConfig(size=120, tags=("<2de>", "<2en>")),
    VocabularyConfig(size=54, kind="unigram", tags=("<2de>", "<2en>")),
    VocabularyConfig(size=370, byte_fallback=True, tags=("<2de>", "<2en>")),
    VocabularyConfig(size=310, kind="unigram", byte_fallback=True, tags=("<2de>", "<2en>")),
]


def train(config: VocabularyConfig) -> Vocabulary:
    return train_vocabularies(corpus(), config, seed=1).source


NAMES = ["bpe", "unigram", "bpe-bytes", "unigram-bytes"]
TRAINED = [train(config) for config in KINDS]
vocabularies = pytest.mark.parametrize("vocabulary", TRAINED, ids=NAMES)
byte_vocabularies = pytest.mark.parametrize("vocabulary", TRAINED[2:], ids=NAMES[2:])
