"""Subtitles: cues keep their times, and lines are short."""

from __future__ import annotations

import pytest
from document_models import file_by
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.documents.subtitles import SubtitleDocument
from dragoman.translation.service.interface import RefusedError

TIMES = "00:00:01,000 --> 00:00:02,000"


def capitals(text: str) -> str:
    return text.upper()


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        (
            "a.srt",
            f"1\r\n{TIMES} X1:5\r\n<i>two\r\nlines</i>\r\n\r\n2\r\n{TIMES}\r\n...\r\n",
            f"1\r\n{TIMES} X1:5\r\n<i>TWO LINES</i>\r\n\r\n2\r\n{TIMES}\r\n...\r\n",
        ),
        (
            "a.srt",
            f"1\n{TIMES}\n- Who?\n- Me {{\\an8}}yes.",
            f"1\n{TIMES}\n- WHO?\n- ME {{\\an8}}YES.",
        ),
        (
            "a.srt",
            f"1\n{TIMES}\none\n2\n{TIMES}\n5 < 6 &\n",
            f"1\n{TIMES}\nONE\n2\n{TIMES}\n5 < 6 &\n",
        ),
        (
            "a.vtt",
            "WEBVTT x\n\nNOTE n\n\nSTYLE\n::cue {}\n\nid\n00:01.000 --> 00:02.000 line:1\n"
            "<v Bob>a &amp; b\n",
            "WEBVTT x\n\nNOTE n\n\nSTYLE\n::cue {}\n\nid\n00:01.000 --> 00:02.000 line:1\n"
            "<v Bob>A &amp; B\n",
        ),
        (  # as YouTube writes it
            "a.vtt",
            f"WEBVTT\n\n{TIMES} align:start\n \na<00:00:01.500><c> b</c>\n\n{TIMES}\na b\n \n\n",
            f"WEBVTT\n\n{TIMES} align:start\n \nA<00:00:01.500> <c>B</c>\n\n{TIMES}\nA B\n \n\n",
        ),
        ("a.srt", f"1\n{TIMES}\na\n \nb\n \n2\n{TIMES}\nc", f"1\n{TIMES}\nA B\n \n2\n{TIMES}\nC"),
        ("a.srt", "", ""),
    ],
)
def test_only_words_are_translated(name: str, source: str, expected: str) -> None:
    assert file_by(capitals, name, source) == expected


@pytest.mark.parametrize(("kind", "name"), [("SubRip", "a.srt"), ("WebVTT", "a.vtt")])
@given(st.text(st.sampled_from("ab <>/i{}\\-:0123,語\n&")))
def test_no_translation_makes_another_cue_or_tag(kind: str, name: str, said: str) -> None:
    head = "WEBVTT\n\n" if kind == "WebVTT" else "1\n"
    found = file_by(lambda _: said, name, f"{head}{TIMES}\n<b>one</b>\n\n{TIMES}\ntwo\n")
    again = SubtitleDocument.read(found, "WebVTT" if kind == "WebVTT" else "SubRip")
    assert found.count("-->") == 2
    marks = [mark for text in again.texts for mark in text.marks]
    assert len(marks) <= 1


@given(st.lists(st.text("abcé語、", min_size=1, max_size=30), min_size=1))
def test_lines_are_short_and_nothing_is_lost(words: list[str]) -> None:
    text = " ".join(words)
    found = file_by(lambda _: text, "a.srt", f"1\n{TIMES}\none\n").split("\n")[2:-1]
    assert "".join(found).replace(" ", "") == "".join(words)
    for line in found:
        columns = sum(2 if one in "語、" else 1 for one in line)
        assert columns <= 44 or " " not in line


def test_lines_are_of_about_the_same_length() -> None:
    found = file_by(lambda _: "wort " * 10, "a.srt", f"1\n{TIMES}\none\n").split("\n")[2:-1]
    assert [len(line) for line in found] == [24, 24]


@pytest.mark.parametrize(("name", "head"), [("a.srt", ""), ("a.vtt", "WEBVTT\n\n")])
def test_spaces_are_those_of_the_translation_and_some_break_no_line(name: str, head: str) -> None:
    first = "Oui" * 8 + "\u00a0?"
    second = "«\u00a0" + "Non" * 5 + "\u202f!\u00a0» はい\u3000そう"
    found = file_by(lambda _: f"{first} {second}", name, f"{head}{TIMES}\none\n")
    assert found == f"{head}{TIMES}\n{first}\n{second}\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.srt", "only words\n", "no line of times, such as 00:00:01,000"),
        ("a.vtt", f"1\n{TIMES}\nx\n", "at line 1: it does not begin with WEBVTT"),
    ],
)
def test_what_is_no_subtitle_is_refused(name: str, content: str, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        file_by(capitals, name, content)
    with pytest.raises(DataError):
        SubtitleDocument.read(content, "SubRip" if name == "a.srt" else "WebVTT")
