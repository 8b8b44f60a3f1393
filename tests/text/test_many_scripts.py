"""Real text in 29 languages and many scripts survives its vocabulary."""

from __future__ import annotations

import gzip

import pytest
from drawn_pieces import drawn

from dragoman.text.cleaning import normalize
from dragoman.text.public_corpora import corpora_folder
from dragoman.text.vocabulary import UNK, VocabularyConfig
from dragoman.text.vocabulary_training import train_vocabularies

UDHR = corpora_folder() / "udhr/udhr.tsv.gz"


@pytest.fixture(scope="module")
def declaration() -> list[str]:
    """The declaration of human rights in 29 languages, a paragraph each."""
    if not UDHR.exists():
        pytest.skip("needs the shared corpora")
    with gzip.open(UDHR, "rt", encoding="utf-8", newline="\n") as stream:
        return [line.rstrip("\n").split("\t", 1)[1] for line in stream][1:]


@pytest.mark.parametrize(
    "config",
    [
        VocabularyConfig(size=5000),
        VocabularyConfig(size=5000, kind="unigram"),
        VocabularyConfig(size=1500, byte_fallback=True, character_coverage=0.99),
    ],
    ids=["bpe", "unigram", "bytes"],
)
def test_text_of_many_scripts_comes_back(declaration: list[str], config: VocabularyConfig) -> None:
    expected = [normalize(text) for text in declaration]
    vocabulary = train_vocabularies([(text, "") for text in expected], config, seed=1).source
    ids = vocabulary.encode_batch(declaration)
    assert not any(UNK in sentence for sentence in ids)
    assert [vocabulary.decode(sentence) for sentence in ids] == expected
    sampled = drawn(vocabulary, declaration[::10], 0.1, seed=1)
    assert [vocabulary.decode(sentence) for sentence in sampled] == expected[::10]
