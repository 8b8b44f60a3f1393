from __future__ import annotations

import pytest

from dragoman.translation.service.placeholders import is_copied, is_intact, protected


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Click [X7X] now", ["[X7X]"]),
        ('An <x id="7"></x> {name}!', ['<x id="7">', "</x>", "{name}"]),
        ("%1$s of %s, see https://x.org/a?b=1.", ["%1$s", "%s", "https://x.org/a?b=1"]),
        ("Nothing [x] here, 20 % off", []),
        ("20%ige Lösung", []),
    ],
)
def test_marks_of_programs_are_found(text: str, marks: list[str]) -> None:
    assert [text[slice(*span)] for span in protected(text)] == marks


def test_text_without_letters_of_its_own_is_copied() -> None:
    assert is_copied("12 %, [X7X] {a}!")
    assert not is_copied("12 %, [X7X] a")
    assert not is_copied("三")
    assert is_copied("")


def test_marks_count_as_often_as_they_are_there() -> None:
    assert is_intact("[X1X] a [X1X]", "[X1X] b [X1X]")
    assert not is_intact("[X1X] a [X1X]", "[X1X] b")
    assert is_intact("a", "")
