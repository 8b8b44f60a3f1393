"""What a line of output may hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.translated_lines import one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\rb\n\tc", "a b  c"), ("a\u2028b\x85c\x0b\x0cd", "a b c  d"), ("a b", "a b"), ("", "")],
)
def test_a_text_is_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@given(st.text(alphabet="ab \t\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"))
def test_whoever_splits_lines_finds_one(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert "\t" not in one_line(text)
