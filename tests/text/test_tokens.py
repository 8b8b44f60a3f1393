"""Words of a line with their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalization import normalize
from dragoman.text.tokens import is_word, space_spans, word_spans, words, words_of


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Don't re-open it, please.", ["Don't", "re-open", "it", ",", "please", "."]),
        ("Größe in μm", ["Größe", "in", "μm"]),
        ("设置 Wi-Fi", ["设", "置", "Wi-Fi"]),
        ("설정을 엽니다", ["설정을", "엽니다"]),
        ("Hi {name}, %1$s <b>x</b>", ["Hi", "{name}", ",", "%1$s", "<b>", "x", "</b>"]),
        ("see https://a.b/c d", ["see", "https://a.b/c", "d"]),
        ("请看https://a.b/c，在$HOME中", [*"请看", "https://a.b/c", *"，在", "$HOME", "中"]),
        ("https://a.b에서", ["https://a.b", "에서"]),
        (
            "C++, C# and Notepad++ in 设C++",
            [*("C++", ",", "C#", "and", "Notepad++", "in"), "设", "C++"],
        ),
        ("a+++b, x#, AB#, C#d", [*"a+++b", ",", *"x#", ",", "AB", "#", ",", *"C#d"]),
        ("- 'quoted' -", ["-", "'", "quoted", "'", "-"]),
    ],
)
def test_words_are_told_from_what_is_between_them(line: str, words: list[str]) -> None:
    assert [word.text for word in words_of(line)] == words


@given(st.text(max_size=40))
def test_words_are_all_of_a_line_but_its_spaces(line: str) -> None:
    found = words_of(line)
    assert all(line[word.start : word.end] == word.text for word in found)
    assert "".join("".join(word.text.split()) for word in found) == "".join(line.split())


def test_what_has_no_letter_or_is_a_placeholder_is_no_word() -> None:
    found = {word.text: word.is_word for word in words_of("Wi-Fi 5 {name} $host L3 !")}
    assert found == {
        "Wi-Fi": True,
        "5": False,
        "{name}": False,
        "$host": False,
        "L3": True,
        "!": False,
    }


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
