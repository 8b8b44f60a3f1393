"""Vocabularies: pieces of words and their ids, learnt, imported, sampled and extended."""

from dragoman.text.vocabularies.saved_vocabularies import Vocabularies, load_vocabulary
from dragoman.text.vocabularies.vocabulary import (
    BOS,
    EOS,
    PAD,
    UNK,
    Vocabulary,
    VocabularyConfig,
    is_empty,
    prepare_line,
)

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "Vocabularies",
    "Vocabulary",
    "VocabularyConfig",
    "is_empty",
    "load_vocabulary",
    "prepare_line",
]
