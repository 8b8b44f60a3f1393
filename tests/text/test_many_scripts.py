"""Real text in 29 languages and many scripts survives its vocabulary."""

from __future__ import annotations

import gzip
import unicodedata

import pytest
from drawn_pieces import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text.corpora.cleaning import normalize
from dragoman.text.public_corpora import corpora_folder
from dragoman.text.vocabularies import UNK, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

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


@pytest.mark.parametrize("marks", [1, 100, 499])
def test_marks_are_composed_and_sorted(marks: int) -> None:
    text = "b a" + "\u0316\u0300" * (marks // 2) + "\u0301"
    assert normalize(text) == unicodedata.normalize("NFC", text)


@given(st.integers(500, 1500), st.sampled_from(["\u0958", "a", "", "\u1112\u1161 "]))
@settings(max_examples=10)
def test_marks_without_end_stay_as_they_are(marks: int, base: str) -> None:
    """To sort them takes the square of their number, in which no other thread runs."""
    run = ("\u0301\u0316" * marks)[:marks]
    found = normalize(f"e\u0301 {base}{run}e\u0301")
    assert found.startswith("\u00e9 ")
    assert found.endswith(f"{run}\u00e9")
    assert normalize(found) == found
