"""Messages of ICU with branches: their sentences, and pairs of these."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.icu_syntax import (
    NoIcuMessageError,
    argument_spans,
    joined_texts,
    read_choices,
    sentence_pairs,
    sentences,
)


def of(text: str) -> dict[str, str]:
    """The sentences by their branches as ``n=one``."""
    return {
        " ".join(sorted(map("=".join, branches))): sentence
        for branches, sentence in sentences(read_choices(text)).items()
    }


def test_a_sentence_for_each_branch() -> None:
    assert of("You have {n, plural, =0 {no files} one {# file} other {# files}} in {folder}.") == {
        "n==0": "You have no files in {folder}.",
        "n=one": "You have {n} file in {folder}.",
        "": "You have {n} files in {folder}.",
    }
    assert of("It''s '{'plain'}' # {a}") == {"": "It's {plain} # {a}"}


def test_choices_are_combined() -> None:
    text = "{who, select, she {She has {n, plural, one {# cat} other {# cats}}} other {They #}}."
    assert of(text) == {
        "n=one who=she": "She has {n} cat.",
        "who=she": "She has {n} cats.",
        "": "They #.",
    }
    twice = "{n, plural, one {# dog} other {# dogs}} and {n, plural, one {a} other {b '#'}}"
    assert of(twice) == {"n=one": "{n} dog and a", "": "{n} dogs and b #"}


def test_a_number_less_an_offset_is_not_the_argument() -> None:
    assert of("{n, plural, offset:1 one {you and # other} other {# more}}")[""] == "# more"


def test_pairs_of_the_branches_that_both_have() -> None:
    source = "{n, plural, one {# file} other {# files}}"
    assert sentence_pairs(source, "{n, plural, one {# Datei} other {# Dateien}}") == [
        ("{n} file", "{n} Datei"),
        ("{n} files", "{n} Dateien"),
    ]
    arabic = "{n, plural, zero {} two {ملفان} few {# ملفات} other {# ملف}}"
    assert sentence_pairs(source, arabic) == [("{n} files", "{n} ملف")]
    assert sentence_pairs(source, "파일 {n}개") == [("{n} files", "파일 {n}개")]


@pytest.mark.parametrize("text", ["{n, plural, one {a}}", "{n, plural, other {a}", "{n, plural,"])
def test_a_damaged_message_stays_whole(text: str) -> None:
    assert sentence_pairs(text, "Datei") == [(text, "Datei")]
    with pytest.raises(NoIcuMessageError):
        read_choices(text)


def test_a_message_with_too_many_sentences_stays_whole() -> None:
    text = "".join(f"{{n{i}, plural, one {{a}} other {{b}}}}" for i in range(9))
    assert sentence_pairs(text, "Datei") == [(text, "Datei")]


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, other {a}} }",
        "{n, plural, other {a {b} } c",
        "{n, plural, other {a {! b} c}}",
        "{n, plural, other {a} } {",
        "{n, plural, other {" * 12 + "a" + "}}" * 12,
    ],
)
def test_braces_that_are_none_of_messages(text: str) -> None:
    with pytest.raises(NoIcuMessageError):
        read_choices(text)
    assert sentence_pairs(text, "Datei") == [(text, "Datei")]


def test_arguments_of_a_text() -> None:
    text = "{a} of {{b}}, '{'c'}' and {n, number}"
    spans = argument_spans(text)
    assert [text[start:stop] for start, stop in spans] == ["{a}", "{{b}}", "{n, number}"]
    for damaged in ("a } b", "{a", "{! a}"):
        with pytest.raises(NoIcuMessageError):
            argument_spans(damaged)


def test_texts_that_touch_are_one() -> None:
    choice = read_choices("{n, plural, other {a}}")[0]
    assert joined_texts(("a ", "b", choice, "c")) == ("a b", choice, "c")


@given(st.text(), st.text())
def test_texts_without_branches_stay_as_they_are(source: str, target: str) -> None:
    assert sentence_pairs(source, target) == [(source, target)]


@given(st.text("{}#n', pluraeothsc"), st.text("{}#n', pluraeothsc"))
def test_any_text_has_pairs(source: str, target: str) -> None:
    begin = "{n, plural, other {"
    assert sentence_pairs(begin + source, begin + target + "}}")
