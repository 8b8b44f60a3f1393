"""Loops in a sequence: against looking at every part at every place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.repetition import least_loop, loop


def brute_force(sequence: str) -> int:
    """How often the part that loops most follows itself, by trying all of them."""
    most = 0
    for start in range(len(sequence)):
        for length in range(1, len(sequence) - start + 1):
            part, times = sequence[start : start + length], 1
            while sequence.startswith(part, start + times * length):
                times += 1
            if times >= least_loop(length):
                most = max(most, times)
    return most


@given(st.text("ab", max_size=14) | st.text("abc", max_size=20) | st.text("abcdef", max_size=30))
def test_no_loop_is_overlooked(sequence: str) -> None:
    assert loop(sequence) == brute_force(sequence)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("the door the door the door", 3),
        ("the door the door .", 0),
        ("no no no", 0),
        ("no no no no", 4),
        ("a man and a man and a woman and a man", 0),
        ("", 0),
    ],
)
def test_what_is_a_loop(text: str, times: int) -> None:
    assert loop(text.split()) == times


@pytest.mark.parametrize("length", [1, 7, 1000])
def test_text_is_hardly_compared(length: int) -> None:
    """Every translation is looked at, so that this must not grow with the square of its length."""
    compared = 0

    class Piece(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    words = [f"w{place % length}" if place % 3 else "the" for place in range(1200)]
    loop([Piece(word) for word in words])
    assert compared < 4 * len(words)
