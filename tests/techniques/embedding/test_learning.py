"""Embeddings learned from text; GenSim is an optional extra."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dragoman.core.errors import ConfigError, DataError, MissingExtraError, SavedError
from dragoman.techniques.embedding.learning import LearningConfig, learn, leaving_out, splitter
from dragoman.techniques.embedding.nearest_vectors import unit
from dragoman.techniques.embedding.vectors_origin import (
    VectorsOrigin,
    origin_file,
    read_origin,
    write_with_origin,
)
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.text.word_vectors import WordVectors

TINY = LearningConfig(dimension=8, epochs=20, minimum_count=2, buckets=100, sample=0.1)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Sentences in which words that begin with a keep one company, those with b another."""
    rng = Random(1)
    groups = [[f"{letter}{number}" for number in range(20)] for letter in "ab"]
    lines = [" ".join(rng.choices(rng.choice(groups), k=8)) for _ in range(250)]
    path = tmp_path / "text.en"
    path.write_text("\n".join([*lines, "", "seldom"]), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["fasttext", "word2vec"])
def test_words_of_like_company_are_near_and_the_seed_decides(text: Path, kind: str) -> None:
    pytest.importorskip("gensim", exc_type=ImportError)
    config = TINY.model_copy(update={"kind": kind})
    split = splitter("words", lowercase=False, vocabulary=None)
    vectors, counts = learn([text], split, config)
    assert set(vectors.words) == {f"{letter}{n}" for letter in "ab" for n in range(20)}
    assert counts == {"lines": 251, "tokens": 2001}
    assert vectors.dimension == 8
    x = unit(vectors.matrix)
    first = np.array([word.startswith("a") for word in vectors.words])
    similarity = x @ x.T
    assert similarity[first][:, first].mean() > similarity[first][:, ~first].mean() + 0.1
    again, _ = learn([text], split, config)
    np.testing.assert_array_equal(again.matrix, vectors.matrix)
    other, _ = learn([text], split, config.model_copy(update={"seed": 2}))
    assert not np.array_equal(other.matrix, vectors.matrix)


def test_text_without_frequent_words(text: Path) -> None:
    pytest.importorskip("gensim", exc_type=ImportError)
    split = splitter("words", lowercase=False, vocabulary=None)
    with pytest.raises(DataError, match=r"text.en: no word occurs 900 times in 251 lines; give"):
        learn([text], split, TINY.model_copy(update={"minimum_count": 900}))
    text.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"text.en: the file is empty"):
        learn([text], split, TINY)


def test_without_gensim(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    split = splitter("words", lowercase=False, vocabulary=None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gensim>=4\.4'"):
        learn([text], split, TINY)


def test_how_lines_are_split() -> None:
    line = "A  cab, A\u0308."
    assert splitter("words", lowercase=False, vocabulary=None)(line) == ["A", "cab", ",", "Ä", "."]
    assert splitter("spaces", lowercase=True, vocabulary=None)(line) == ["a", "cab,", "ä."]
    pieces = train_vocabularies([("ab ab c", "ab c")] * 9, VocabularyConfig(size=9), seed=1).source
    found = splitter("pieces", lowercase=False, vocabulary=pieces)("ab xc")
    assert found == ["▁", "ab", "▁", "c"]  # no unknown piece


def test_lines_that_are_held_out_have_no_words(tmp_path: Path) -> None:
    (tmp_path / "held.txt").write_text("A  man sleeps.\n\nTwo dogs\n", encoding="utf-8")
    split = splitter("words", lowercase=False, vocabulary=None)
    kept = leaving_out(split, [tmp_path / "held.txt"])
    lines = ["a man sleeps. ", "A man", "two dogs", "two dogs run"]
    assert [kept(line) for line in lines] == [[], ["A", "man"], [], ["two", "dogs", "run"]]


def test_origin_beside_the_vectors(tmp_path: Path) -> None:
    path = tmp_path / "a.vec"
    vectors = WordVectors(("a",), np.ones((1, 2), dtype=np.float32))
    assert read_origin(path) == VectorsOrigin()  # of another program
    origin = VectorsOrigin(tokens="pieces", vocabulary="0" * 64, settings={"train": {"seed": 1}})
    write_with_origin(path, vectors, origin)
    assert read_origin(path) == origin
    origin_file(path).write_text("[]", encoding="utf-8")
    with pytest.raises(SavedError, match=r"a.vec.json: not what Dragoman wrote"):
        read_origin(path)
    origin_file(path).write_text("{", encoding="utf-8")
    with pytest.raises(SavedError, match=r"a.vec.json: cannot be read"):
        read_origin(path)
    origin_file(path).write_text('{"tokens": "letters"}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"a.vec.json: tokens"):
        read_origin(path)
