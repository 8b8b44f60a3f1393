"""Words in which marks begin or end."""

from __future__ import annotations

import pytest

from dragoman.documents.marks.parted_words import PartedWords


@pytest.mark.parametrize(
    ("text", "edges", "wanted"),
    [
        ("no, yesterday it", (9, 13), (4, 13)),
        ("no, yesterday it", (4, 13), (4, 13)),
        ("no, yesterday it", (1, 9), (0, 13)),
        ("no, yesterday it", (3, 3), (3, 3)),
        ("赤い家がある", (2, 3), (2, 3)),  # no word is longer than a character
    ],
)
def test_whole_words(text: str, edges: tuple[int, int], wanted: tuple[int, int]) -> None:
    assert PartedWords(text, edges).around(*edges) == wanted


def test_parts_of_copies_are_those_of_the_source_in_its_order() -> None:
    words = PartedWords("H2O or CO2 or H2O", (1, 2, 9, 15, 16))
    assert list(words.next("h2o")) == [("h", (0, 1)), ("2", (1, 2)), ("o", (2, 3))]
    assert list(words.next("oder")) == [("oder", None)]
    assert list(words.next("CO2는")) == [("CO", (7, 9)), ("2", (9, 10)), ("는", None)]
    assert list(words.next("H2O")) == [("H", (14, 15)), ("2", (15, 16)), ("O", (16, 17))]
    assert list(words.next("CO20")) == [("CO20", None)]  # another number


def test_words_that_are_parted_in_one_place_only_are_whole() -> None:
    words = PartedWords("x2 or x2", (1,))
    assert list(words.next("x2")) == [("x2", None)]
    assert words.around(1, 2) == (0, 2)
