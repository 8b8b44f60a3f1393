"""Subtitles: cues keep their times, and lines are short."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from document_models import file_by
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.documents.filetypes import FileLanguages, document_format
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
        (
            "a.srt",
            f"1\n{TIMES}\na\n \nb\n \n2\n{TIMES}\nc",
            f"1\n{TIMES}\nA\n \nB\n \n2\n{TIMES}\nC",
        ),
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
    again = document_format(name).read(found.encode(), FileLanguages(None, "en"))
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
        document_format(name).read(content.encode(), FileLanguages(None, "en"))


def reversed_words(text: str) -> str:
    return " ".join(reversed(text.swapcase().split()))


def asked(name: str, content: str) -> list[str]:
    """The texts of a file as a model reads them."""
    found: list[str] = []
    file_by(lambda text: found.append(text) or text, name, content)  # type: ignore[func-returns-value]
    return found


VTT = f"WEBVTT\n\n{TIMES}\n"
SRT = f"1\n{TIMES}\n"


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        # empty lines within a cue, and where its number is missing
        ("a.srt", f"{SRT}\none\n\ntwo\n\n\n2\n{TIMES}\n\n\nthree", ["one", "two", "three"]),
        ("a.srt", f"{TIMES}\none\n\n{TIMES}\ntwo\n", ["one", "two"]),
        ("a.srt", f"{TIMES}\none\n{TIMES}\ntwo\n\n\nthree 4\n", ["one", "two", "three 4"]),
        ("a.srt", f"{SRT}one\n\n7 days\n8\n{TIMES}\ntwo\n", ["one", "7 days", "two"]),
        ("a.vtt", f"{VTT}one\n\ntwo\n\nname of it\n{TIMES}\nthree\n", ["one", "two", "three"]),
        (
            "a.vtt",
            f"{VTT}one\n\nNOTE for\nyou\n\nSTYLE\n::cue(b) {{}}\n\nREGION\nid:a\n\n{TIMES}\ntwo\n",
            ["one", "two"],
        ),
        (
            "a.vtt",
            f"{VTT}one\n{TIMES}\ntwo\n\n3\n{TIMES}\n4\n{TIMES}\nfive",
            ["one", "two", "five"],
        ),
        ("a.vtt", f"WEBVTT\nX-TIMESTAMP-MAP=LOCAL:a\n\nname\n{TIMES}\none\n", ["one"]),
        # several speakers
        ("a.vtt", f"{VTT}<v Mary>one\n<v.loud John>two\nthree\n", ["one", "two three"]),
        ("a.vtt", f"{VTT}<v A>one</v> <v B>two</v><v C>three\n", ["one", "two", "three"]),
        ("a.vtt", f"{VTT}&gt;&gt; one\nand\n&gt;&gt; two\n", ["one and", "two"]),
        ("a.srt", f"{SRT}one\n>> two\n", ["one", "two"]),
        ("a.srt", f"{SRT}- one\n– two\nand\n— three\n", ["one", "two and", "three"]),
        ("a.srt", f"{SRT}<i>- one</i>\n<i>- two</i>\n", ["- one", "- two"]),
        ("a.srt", f"{SRT}one\nANN: two\n", ["one", "ANN: two"]),
        ("a.srt", f"{SRT}<b>ANN</b> (off): one\nBOB: two\n", ["ANN (off): one", "BOB: two"]),
        ("a.srt", f"{SRT}Ann: one\nBob: two\nand\n", ["Ann: one", "Bob: two and"]),
        ("a.srt", f"{SRT}One thing\nabout it: two\n", ["One thing about it: two"]),
        (
            "a.srt",
            f"{SRT}[door opens]\none\n(BELL)\ntwo\n",
            ["[door opens]", "one", "(BELL)", "two"],
        ),
        ("a.srt", f"{SRT}one\n(and this)\ntwo\n", ["one (and this) two"]),
        ("a.srt", f"{SRT}♪ one ♪\n♪ two ♪\n", ["♪ one ♪", "♪ two ♪"]),
        # line breaks as tags and codes
        ("a.srt", f"{SRT}one<br />two<BR>three\\Nfour\n", ["one", "two", "three", "four"]),
        ("a.vtt", f"{VTT}one<br/>two\n", ["one", "two"]),
        ("a.srt", f"{SRT}one\\htwo\n", ["one\u00a0two"]),
        ("a.vtt", f"{VTT}<ruby>one<rt>wan</rt></ruby> two\n", ["one two"]),
    ],
)
def test_what_is_one_text(name: str, source: str, expected: list[str]) -> None:
    assert asked(name, source) == expected
    assert file_by(str, name, source) == source
    written = file_by(capitals, name, source)
    assert written != source
    assert written.casefold().split() == source.casefold().split()  # lines may end elsewhere


@pytest.mark.parametrize(
    "tag",
    [
        "{\\an8}",
        "{\\pos(10,20)}",
        "{b}",
        "{/i}",
        "{y:i}",
        '<font color="#ff0">',
        "</font>",
        "<c.yellow.bg_blue>",
        "<00:19.000>",
        "<00:00:19.000>",
        "<lang en-GB>",
        "<sighs>",
        "<x:y z>",
        "<b/>",
        "<img src='a'>",
        "</unknown>",
    ],
)
@pytest.mark.parametrize("head", [SRT, VTT])
def test_tags_stay_also_unknown_ones(head: str, tag: str) -> None:
    name = "a.vtt" if head == VTT else "a.srt"
    source = f"{head}one {tag}two three\n"
    for by in (capitals, reversed_words, lambda text: text + " end"):
        assert file_by(by, name, source).count(tag) == 1
    assert file_by(str, name, source) == source


@pytest.mark.parametrize(
    "times",
    [
        "-00:00:01,000 --> 00:00:02,000",
        "00:00:02,000 --> 00:00:01,000",
        "00:00:01 --> 00:00:02",
        "00: 00: 01,000 -->00: 00: 02.000 X1:40 X2:600 Y1:20 Y2:50",
        "01:02.345 --> 01:03.456 region:a position:10%,line-left align:left",
        "100:00:01.000 --> 100:00:02.000",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_times_stay_however_they_are_written(times: str, newline: str) -> None:
    source = newline.join(["\ufeff7", times, "one two", "", "5", times, "and three"])
    expected = source.replace("one two", "TWO ONE").replace("and three", "THREE AND")
    assert file_by(reversed_words, "a.srt", source) == expected


LINES = ["one two", "- three", "", " ", "<i>four", "five</i> six", "{\\an8}7 eight", "12", "..."]
LINES += [
    "<v Ann>nine ten",
    "a<br>b",
    "ANN: yes",
    "[noise]",
    "&amp; <00:01.500>so",
    ">> no",
    "NOTE a",
]


@given(
    st.lists(st.lists(st.sampled_from(LINES), max_size=5), min_size=1, max_size=4), st.booleans()
)
def test_cues_are_what_they_were(cues: list[list[str]], is_vtt: bool) -> None:
    name, head = ("a.vtt", "WEBVTT\n\n") if is_vtt else ("a.srt", "")
    source = head + "".join(
        f"{number}\n{TIMES}\n" + "".join(f"{line}\n" for line in lines) + "\n"
        for number, lines in enumerate(cues, 1)
    )
    assert file_by(str, name, source) == source
    written = file_by(reversed_words, name, source)
    signs = re.compile(r"<[^>]*>|\{[^}]*\}|^\d+\n.*-->.*|&amp;", re.MULTILINE)
    assert Counter(signs.findall(written)) == Counter(signs.findall(source))
    words = re.compile(r"[a-z]+")
    bare = [signs.sub(" ", one) for one in (source, written)]
    assert Counter(words.findall(bare[0].lower())) == Counter(words.findall(bare[1].lower()))
