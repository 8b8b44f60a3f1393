"""Places of words in texts with and without spaces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.word_edges import fold, longest_apart, occurrences


@pytest.mark.parametrize(
    ("text", "phrase", "count"),
    [
        ("house, (house) house's", "house", 3),
        ("houses warehouse house_1 house1", "house", 0),
        ("Haus-Nummer", "Haus", 1),
        ("설정을 열고 재설정", "설정", 1),  # particles follow, but a word does not begin inside
        ("打开设置页面", "设置", 1),
        ("設定を開く", "設定", 1),
        ("ユーザーID", "ユーザー", 1),
        ("HACS를 HACSs", "HACS", 1),  # particles follow names and numbers, too
        ("10분 110분 제10장", "10", 2),
        ("%s을 %s개의 %sx", "%s", 2),
        ("PC방", "방", 0),
        ("13 of 3", "3", 1),
        ("{name}s and %s", "{name}", 1),
        ("naïve", "na", 0),
        ("e\u0301tude", "e", 0),  # the accent belongs to the letter
        ("ที่บ้าน", "ที", 0),  # as does a tone mark
        ("ที่บ้าน", "ที่", 1),
        ("aa aa", "aa aa", 1),
    ],
)
def test_where_words_are(text: str, phrase: str, count: int) -> None:
    found = list(occurrences(text, phrase))
    assert len(found) == count
    assert all(text[start:end] == phrase for start, end in found)


def test_any_place_will_do_if_words_do_not_count() -> None:
    assert list(occurrences("%dpx", "%d", whole=False)) == [(0, 2)]
    assert list(occurrences("aaa", "aa", whole=False)) == [(0, 2), (1, 3)]


@given(st.text())
def test_folding_keeps_places(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)


def test_the_last_sigma_is_a_sigma() -> None:
    assert fold("ΟΔΟΣ") == fold("οδος") == fold("οδοσ")


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), max_size=12))
def test_the_longest_win_and_nothing_overlaps(drawn: list[tuple[int, int]]) -> None:
    spans = [(start, start + length) for start, length in drawn]
    chosen = [spans[index] for index in longest_apart(spans)]
    assert all(before[1] <= after[0] for before, after in pairwise(chosen))
    for start, end in spans:  # what is left out overlaps something at least as long
        assert any(a < end and start < b and b - a >= end - start for a, b in chosen), (
            "left out for nothing"
        )
