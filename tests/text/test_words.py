"""Words and signs of a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalization import normalize
from dragoman.text.words import is_word, space_spans, word_spans, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zwei Hunde, draußen.", ["Zwei", "Hunde", ",", "draußen", "."]),
        ("I don't; 3.5 T-Shirts!", ["I", "don't", ";", "3.5", "T-Shirts", "!"]),
        ("um 10:30: 1,000", ["um", "10:30", ":", "1,000"]),
        ("(„so“) – ja...", ["(", "„", "so", "“", ")", "–", "ja", ".", ".", "."]),
        ("हिन्दी é", ["हिन्दी", "é"]),
        ("", []),
    ],
)
def test_words_and_signs(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_nothing_but_white_space_is_lost(text: str) -> None:
    text = normalize(text)
    assert "".join(words(text)) == "".join(text.split())
    assert [text[slice(*span)] for span in word_spans(text)] == words(text)
    assert [text[slice(*span)] for span in space_spans(text)] == text.split()


def test_numbers_and_signs_are_no_words() -> None:
    assert [one for one in ("Hund", "3.5", ",", "é", "7-mal", "犬") if is_word(one)] == [
        *("Hund", "é", "7-mal", "犬")
    ]
