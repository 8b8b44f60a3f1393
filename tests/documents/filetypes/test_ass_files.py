"""Subtitles of SubStation Alpha."""

from __future__ import annotations

import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from string_files import opened, texts, translated

from dragoman.core.errors import DataError
from soak.fuzzing.target import seed

CONTENT = seed("film.ass").content.decode()
HEAD = CONTENT[: CONTENT.index("Comment:")]


def event(text: str) -> str:
    return f"{HEAD}Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{text}\n"


def shown(content: str) -> list[str]:
    """The text of each event, as another program reads it."""
    return [one.text for one in pysubs2.SSAFile.from_string(content).events]


def test_a_file() -> None:
    assert texts("a.ass", CONTENT) == [
        "Hello, good old friend, where have you been?",
        "Come in.",
        "Thank\u00a0you.",
        "The end",
    ]
    expected = CONTENT
    for before, after in (
        (
            r"Hello, {\i1}good old{\i0} friend,\Nwhere have you been?",
            r"HELLO, {\i1}GOOD OLD{\i0} FRIEND,\NWHERE HAVE YOU BEEN?",
        ),
        (r"Come in.\N- Thank\hyou.", r"COME IN.\N- THANK\hYOU."),
        (",,The end", ",,THE END"),
    ):
        assert before in expected
        expected = expected.replace(before, after)
    assert translated("a.ass", CONTENT) == expected
    assert shown(expected)[1] == r"{\an8}HELLO, {\i1}GOOD OLD{\i0} FRIEND,\NWHERE HAVE YOU BEEN?"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_does_not_change_keeps_its_bytes(newline: str) -> None:
    content = CONTENT.replace("\n", newline).encode("utf-16")
    assert opened("a.ssa", content).texts
    document = opened("a.ass", CONTENT.replace("\n", newline))
    same = translated("a.ass", CONTENT.replace("\n", newline), by=str)
    assert (same, len(document.texts)) == (CONTENT.replace("\n", newline), 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"{\i1}All of it", r"{\i1}ALL OF IT"),
        (r"One {\b1}two\Nthree{\b0} four", r"ONE {\b1}TWO THREE{\b0} FOUR"),
        (r"One, two\nthree, four", r"ONE, TWO THREE, FOUR"),
        ("Commas, in, text", "COMMAS, IN, TEXT"),
    ],
)
def test_codes_and_lines(text: str, expected: str) -> None:
    assert translated("a.ass", event(text)) == event(expected)


@given(st.text("ab {}\\Nnh,.<&", max_size=12))
def test_whatever_a_model_says_is_text(said: str) -> None:
    written = translated("a.ass", event(r"{\i1}Hello{\i0} you"), by=lambda _: f"a{said}")
    assert written.count("\n") == HEAD.count("\n") + 1
    (text,) = shown(written)
    assert sorted(pysubs2.SSAEvent.OVERRIDE_SEQUENCE.findall(text)) == [r"{\i0}", r"{\i1}"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Dialogue: 0\n", r"it has no section \[Events\]"),
        ("[Events]\nDialogue: 0,0:00,a\n", "line 2: 3 fields, not 10"),
    ],
)
def test_damaged_files(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.ass", content)
