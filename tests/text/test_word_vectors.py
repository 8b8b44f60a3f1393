"""Files of vectors in word2vec's text format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dragoman.core.errors import DataError
from dragoman.text.word_vectors import (
    WordVectors,
    each_vector,
    read_header,
    read_vectors,
    write_vectors,
)

finite = st.floats(-(2.0**100), 2.0**100, width=32)
tokens = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=5)


@settings(max_examples=30)
@given(
    words=st.lists(tokens, min_size=1, max_size=5, unique=True),
    data=st.data(),
    suffix=st.sampled_from(["", ".gz", ".zst"]),
)
def test_what_is_written_is_read_to_six_digits(
    words: list[str], data: st.DataObject, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("vectors") / f"some.vec{suffix}"
    matrix = data.draw(arrays(np.float32, (len(words), 3), elements=finite))
    write_vectors(path, WordVectors(tuple(words), matrix))
    found = read_vectors(path)
    assert found.words == tuple(words)
    assert found.index == {word: row for row, word in enumerate(words)}
    np.testing.assert_allclose(found.matrix, matrix, rtol=1e-5)
    first = path.read_bytes()
    write_vectors(path, found)
    assert path.read_bytes() == first


def test_what_other_programs_write(tmp_path: Path) -> None:
    """FastText ends lines in a space, and phrases have spaces."""
    path = tmp_path / "wiki.vec"
    path.write_text("3 2 \nthe 0.5 -1e-3 \nNew York 1 2\nx 3 4\n", encoding="utf-8")
    assert read_header(path) == (3, 2)
    found = read_vectors(path)
    assert found.words == ("the", "New York", "x")
    assert found.dimension == 2
    np.testing.assert_array_equal(
        found.matrix, np.array([[0.5, -0.001], [1, 2], [3, 4]], dtype=np.float32)
    )
    assert read_vectors(path, maximum=2).words == ("the", "New York")
    chosen = [(place, word) for place, word, _ in each_vector(path, wanted={"x", "the", "none"})]
    assert chosen == [(1, "the"), (3, "x")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"some.vec:1: expected the number of vectors and their dimension"),
        ("the 0.1 0.2\n", r"some.vec:1: expected the number .* found 'the 0.1 0.2'"),
        ("2 0\n", r"some.vec:1: expected the number"),
        ("9999999999999999999999 2\n", r"some.vec:1: expected the number"),
        ("9" * 5000 + " 2\n", r"some.vec:1: expected the number"),
        ("0" * 5000 + "1 2\n", r"some.vec:1: expected the number"),
        ("2 2\na 1 2\n", r"promises 2 vectors, found 1; copy the file again"),
        ("1 2\na 1\n", r"some.vec:2: expected a word and 2 numbers, found 'a 1'"),
        ("1 2\na 1 b\n", r"some.vec:2: could not convert"),
        ("1 2\na 1 nan\n", r"some.vec:2: a number is infinite or NaN"),
        ("1 2\na 1 1e99\n", r"some.vec:2: a number is infinite or NaN"),
        ("2 1\na 1\na 2\n", r"some.vec:3: 'a' is there twice"),
        ("2 2\na 1 0 3\nb 1 1 -.3e-2\n", r"some.vec:2: more numbers than the 2"),
    ],
)
def test_damaged_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "some.vec"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_vectors(path)


def test_missing_and_truncated_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.vec: no such file"):
        read_header(tmp_path / "none.vec")
    path = tmp_path / "cut.vec.gz"
    path.write_bytes(gzip.compress(b"2 2\na 1 2\nb 1 2\n")[:20])
    with pytest.raises(DataError, match=r"truncated or corrupt"):
        read_vectors(path)


def test_a_message_does_not_repeat_a_number_without_end(tmp_path: Path) -> None:
    (tmp_path / "a.vec").write_text(f"1 1\na -1{'9' * 5000}x\n", encoding="utf-8")
    with pytest.raises(DataError, match="could not convert") as caught:
        read_vectors(tmp_path / "a.vec")
    assert len(str(caught.value)) < 400
