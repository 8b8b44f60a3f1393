"""Messages of ICU: each branch is a sentence, and the target has the branches it needs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.strings.icu_messages import read_message
from dragoman.translation.service.translated_text import TranslatedText


def message(source: str, language: str, by: str = "{}") -> str:
    value = read_message(source, language)
    return value.joined(
        [
            place_marks(one, TranslatedText(by.replace("{}", one.text), "", "", None, ()))
            for one in value.texts
        ]
    )


def texts(source: str, language: str = "de") -> list[str]:
    return [one.text for one in read_message(source, language).texts]


def test_branches_are_translated_within_their_sentence() -> None:
    source = "You have {n, plural, =0 {no files} one {# file} other {# files}} in {folder}."
    assert texts(source) == [
        "You have no files in {folder}.",
        "You have 1 file in {folder}.",
        "You have 3 files in {folder}.",
    ]
    assert message(source, "de") == source
    assert message(source, "de", "x {}") == (
        "{n, plural, =0 {x You have no files in {folder}.} one {x You have # file in {folder}.} "
        "other {x You have # files in {folder}.}}"
    )


def test_the_target_has_the_branches_that_it_needs() -> None:
    source = "{n, plural, one {# file} other {# files}}"
    expected = "{n, plural, one {# file} few {# files} many {# files} other {# files}}"
    assert texts(source, "pl") == ["1 file", "3 files", "5 files", "5 files"]
    assert message(source, "pl") == expected
    assert message(source, "ja") == "{n, plural, other {# files}}"
    assert message(expected, "en") == "{n, plural, one {# file} other {# files}}"


def test_the_number_may_be_written_as_an_argument() -> None:
    source = "{n, plural, =0 {no files} one {{n} file} other {{ n, number } files of {m}}}"
    assert texts(source, "ru") == [
        "no files",
        "1 file",
        *(f"{number} files of {{m}}" for number in (3, 5, 5)),
    ]
    assert message(source, "de", "x {}") == (
        "{n, plural, =0 {x no files} one {x {n} file} other {x { n, number } files of {m}}}"
    )
    assert message(source, "ru").startswith("{n, plural, =0 {no files} one {{n} file} few {{ n, ")
    others = "{n, plural, offset:1 one {{n}} other {{n} of {m, plural, other {{n} {m} files}}}}"
    assert texts(others, "ja") == ["{n} of {n} 3 files"]


def test_an_offset_stays_in_front_of_all_branches() -> None:
    source = "{n, plural, offset:1 one {you and #} =0 {none} other {you and # more}}"
    assert message(source, "ja") == "{n, plural, offset:1 =0 {none} other {you and # more}}"
    assert message(source, "de", "x {}") == (
        "{n, plural, offset:1 =0 {x none} one {x you and #} other {x you and # more}}"
    )
    source = "{n, plural, offset:1 other {you and #}}"
    assert message(source, "en") == "{n, plural, offset:1 one {you and #} other {you and #}}"


def test_ordinals_and_selections() -> None:
    source = "{n, selectordinal, one {#st} two {#nd} few {#rd} other {#th}} place"
    assert message(source, "de") == "{n, selectordinal, other {#th place}}"
    assert texts(source) == ["5th place"]
    source = "{g, select, male {He} other {They}} saw {n, plural, one {# cat} other {# cats}}"
    assert texts(source) == ["He saw 1 cat", "He saw 3 cats", "They saw 1 cat", "They saw 3 cats"]
    assert message(source, "de") == source


def test_what_is_in_quotation_marks_is_no_argument() -> None:
    source = "{n, plural, one {a '{'x'}' and #} other {a '{'x'}' and #}}"
    expected = "{n, plural, one {now a '{'x'}' and #} other {now a '{'x'}' and #}}"
    assert message(source, "de", "now {}") == expected


def test_quotation_marks_of_icu() -> None:
    source = "{x, plural, one {It's #} other {They''re '{'#'}' #}}"
    assert texts(source) == ["It's 1", "They're {3} #"]
    assert message(source, "de") == source
    assert message("{x, select, other {a}}", "de", "it's #").endswith("{it's #}}")


def test_apostrophes_beside_what_is_quoted_stay() -> None:
    source = "{n, plural, one {the key '{''' works} other {keys '{'}}"
    assert texts(source) == ["the key {' works", "keys {"]
    assert message(source, "de") == source
    written = message("{x, select, other {a '{' b}}", "de", "{'a")
    assert texts(written) == ["{'a"]


@pytest.mark.parametrize(
    "source",
    [
        "{n, plural, one {x} }",
        "{n, plural, one {x} other {y}",
        "{n, plural, one {x} other {y}}}",
        "{n, plural, other {a {} b}}",
        "{a, select, other {" * 20 + "x" + "}}" * 20,
        "{a, plural, " + " ".join(f"={n} {{x}}" for n in range(99)) + " other {y}}",
        f"{{a, plural, ={'9' * 5000} {{x}} other {{y}}}}",
    ],
)
def test_what_is_no_valid_message_stays_as_it_is(source: str) -> None:
    assert texts(source) == []
    assert message(source, "de") == source


def test_no_branches_is_a_plain_string() -> None:
    assert texts("Hi {name}, {0, number, #.##}!") == ["Hi {name}, {0,number,#.##}!"]


LEAF = st.lists(st.sampled_from(["word ", "{x}", "#", "''", "<b>", "</b>", "it's "]), max_size=5)
SENTENCE = LEAF.map("".join)
HOSTILE = st.sampled_from(["{}", "x", "{} {y} #", "'", "{} }", "{", "<b>{}", "'{'{}"])


@settings(max_examples=40)
@given(SENTENCE, SENTENCE, SENTENCE, HOSTILE)
def test_arguments_come_out_as_they_went_in(one: str, other: str, rest: str, by: str) -> None:
    source = f"{{n, plural, one {{{one}}} other {{{other}}}}}{rest}"
    assert message(source, "de") == source
    found = message(source, "de", by)
    again = read_message(found, "de")
    assert message(found, "de") == found
    wanted = sum(text.kept.count("{x}") for text in read_message(source, "de").texts)
    assert sum(text.kept.count("{x}") for text in again.texts) <= wanted
    assert found.count("{x}") >= (1 if "{x}" in source else 0)
