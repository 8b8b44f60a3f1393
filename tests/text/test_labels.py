"""Labels as a vocabulary, and the parts of a corpus that have some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.labels import label_vocabulary, labels_of, unknown_label
from dragoman.text.tags import label_problem
from dragoman.text.vocabularies import EOS, UNK

words = st.text(st.sampled_from("ab1-_é한."), min_size=1, max_size=6)


@given(st.sets(words, min_size=2, max_size=9), st.randoms())
def test_every_label_is_one_piece_whatever_their_order(labels: set[str], rng: Any) -> None:
    shuffled = sorted(labels)
    rng.shuffle(shuffled)
    vocabulary = label_vocabulary([*shuffled, shuffled[0]])
    assert labels_of(vocabulary) == sorted(labels)
    assert [vocabulary.encode(one) for one in sorted(labels)] == [
        [EOS + 1 + place] for place in range(len(labels))
    ]
    assert vocabulary.fingerprint == label_vocabulary(labels).fingerprint
    assert not vocabulary.tags
    assert vocabulary.encode("unheard-of") == [UNK]


def test_an_unknown_label_names_those_there() -> None:
    vocabulary = label_vocabulary(["de", "en"])
    assert unknown_label("de", vocabulary) is None
    for other in ("fr", "de en"):
        assert unknown_label(other, vocabulary) == (
            f"the label {other!r} is not in the training text; labels there: de, en"
        )
    many = label_vocabulary(map(str, range(100, 130)))
    assert str(unknown_label("x", many)).endswith("118, 119 and 10 more")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["de"], "at least two labels, and there is only 'de'"),
        ([], "there is none"),
        (["de", "two words"], "without spaces, < and >: 'two words'"),
        ([str(n) for n in range(10_001)], "10,001 different labels"),
    ],
)
def test_what_are_no_labels(labels: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        label_vocabulary(labels)


@pytest.mark.parametrize("label", ["", " ", "a b", "<s>", "a\u2581", "e\u0301", "a\tb"])
def test_forms_that_a_label_cannot_have(label: str) -> None:
    assert label_problem(label)
    with pytest.raises(ConfigError, match="a label"):
        parse(CorpusPart, {"source": "x.txt", "label": label}, "part")


def test_a_label_for_a_whole_part(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("eins\n\nzwei\n", encoding="utf-8")
    (tmp_path / "a.tsv").write_text("de\ten\neins\tone\n\ttwo\n", encoding="utf-8")
    plain = CorpusPart(source=str(tmp_path / "a.txt"), label="de")
    assert plain.has_source
    assert list(read_pairs(plain)) == [
        Pair("eins", "de", 1),
        Pair("", "", 2),
        Pair("zwei", "de", 3),
    ]
    table = CorpusPart(path=str(tmp_path / "a.tsv"), source="en", label="english")
    assert list(read_pairs(table)) == [Pair("one", "english", 2), Pair("two", "english", 3)]


def test_columns_that_are_labels(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("de\tid\ten\neins\t7\tone\n\t8\ttwo\n", encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "a.tsv"), label_columns=("en", "de"))
    assert part.has_source
    assert list(read_pairs(part)) == [
        Pair("one", "en", 2),
        Pair("two", "en", 3),
        Pair("eins", "de", 2),
        Pair("", "", 3),
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"source": "a", "target": "b", "label": "de"}, "leave target out, or label"),
        ({"label": "de"}, "name it as source, the file of its lines"),
        ({"path": "a.tsv", "label": "de"}, "name it as source, one of the columns"),
        ({"path": "a.tsv", "label_columns": ["de"], "source": "de"}, "leave source and label out"),
        ({"path": "a.tsv", "label_columns": ["de"], "label": "de"}, "leave source and label out"),
        ({"path": "a.tsv", "label_columns": ["de", "de"]}, "named twice"),
        ({"path": "a.tsv", "label_columns": ["<s>"]}, "one word"),
        ({"path": "a.po", "label_columns": ["de"]}, "named columns, not po"),
        ({"label_columns": ["de"]}, "named columns, not plain"),
        ({"source": "a", "label": "de", "alignments": "c"}, "alignments link two texts"),
    ],
)
def test_keys_that_do_not_go_together(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(CorpusPart, values, "part")
