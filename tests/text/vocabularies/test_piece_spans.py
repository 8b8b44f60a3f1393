"""Where pieces are in a line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.tags import tagged
from dragoman.text.vocabularies import UNK, Vocabulary, VocabularyConfig
from dragoman.text.vocabularies.piece_spans import as_split, piece_spans, words_at
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

LINES = ["a bad deed", "deaf bee", "a cab"] * 9


def vocabulary(**values: Any) -> Vocabulary:
    config = VocabularyConfig(**{"size": 24, "tags": ("<2de>",), **values})
    return train_vocabularies(zip(LINES, LINES, strict=True), config, seed=1).source


PLAIN = vocabulary()
BYTES = vocabulary(size=280, byte_fallback=True)
FOLDED = vocabulary(normalization="nfkc_cf")


@given(
    line=st.text(st.sampled_from("abdeAé網☃ ﬁ"), max_size=12),
    tags=st.sampled_from([(), ("<2de>",), ("<2de>", "<2de>")]),
    kind=st.sampled_from([PLAIN, BYTES, FOLDED]),
)
def test_spans_are_the_characters_of_their_pieces(
    line: str, tags: tuple[str, ...], kind: Vocabulary
) -> None:
    text = as_split(kind, line)
    whole = tagged(tags, text)
    spans = piece_spans(kind, whole, text)
    assert len(spans) == len(kind.encode(whole))
    assert "".join(text[start:end] for start, end in spans) == text.replace(" ", "")
    for piece, (start, end) in zip(kind.surfaces(whole), spans, strict=True):
        if not piece.startswith("<"):
            assert text[start:end] == piece.lstrip("▁")


def test_unknown_pieces_are_spelt_as_in_the_text() -> None:
    assert PLAIN.surfaces("a 網☃") == ["▁a", "▁", "網☃"]
    ids = PLAIN.encode("a 網☃")
    assert ids[-1] == UNK
    assert PLAIN.ids(PLAIN.pieces(ids)) == ids
    assert BYTES.has_bytes and not PLAIN.has_bytes


@pytest.mark.parametrize(
    ("spans", "words", "found"),
    [
        ([(0, 2), (2, 5), (6, 6)], [(0, 5), (6, 9)], [0, 0, -1]),
        ([(0, 4)], [(0, 1), (1, 4)], [1]),
        ([(0, 1)], [], [-1]),
    ],
)
def test_a_piece_belongs_to_the_word_with_most_of_it(
    spans: list[tuple[int, int]], words: list[tuple[int, int]], found: list[int]
) -> None:
    assert words_at(spans, words) == found
