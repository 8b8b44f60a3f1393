"""Strings of programs: what is translated of them, and what comes back."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.strings.string_placeholders import filled_in
from dragoman.documents.strings.string_syntax import APPLE
from dragoman.documents.strings.string_values import PlainValue, StringValue, is_code
from dragoman.translation.service.translated_text import TranslatedText


def joined(value: StringValue, *translations: str) -> str:
    found = translations or tuple(one.text for one in value.texts)
    return value.joined(
        [
            place_marks(text, TranslatedText(one, "", "", None, ()))
            for text, one in zip(value.texts, found, strict=True)
        ]
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Hi %s", ["Hi %s"]),
        ("one\n  two\n", ["one", "two"]),
        ("one<br>two", ["one", "two"]),
        ("a <b>bold</b> word", ["a bold word"]),
        ("<a href='%s'>x</a> y", ["x y"]),
        ("usage: do <file>", ["usage: do <file>"]),
        ("Tom &amp; Jerry", ["Tom & Jerry"]),
        ("<0>Hi</0> you <1/>", ["Hi you"]),
        ("%s: {name}", []),
        ("main_menu", []),
        (":year", []),
        ("%Y-%m-%d", []),
        ("yyyy-MM-dd'T'HH:mm:ss", []),
        ("dddd, MMMM Do YYYY [um] h:mm a", []),
        ("dd.MM.", []),
        ("Hmm: add my dad, Mom", ["Hmm: add my dad, Mom"]),
        ("https://a.example/b", []),
        ("one.<1></1>Two three", ["one.", "Two three"]),
        ("one!<br1 />Two <2/>three", ["one!", "Two three"]),
        ("one <b>two:</b><0/><i>Three</i>", ["one two:", "Three"]),
        ("<b>one.<0/></b><1></1>“Two” <i>x</i>", ["one.", "“Two” x"]),
        ("one.<0/>{name}", ["one."]),
        ("one<0/>two", ["one", "two"]),
        ("one<wbr>two a<0/>, b <1></1>c", ["onetwo a, b c"]),
        ("点击<0/>继续。<1></1>如果", ["点击继续。", "如果"]),
        ("<ul><li>one</li><li>two</li></ul><p>three", ["one", "two", "three"]),
        ("one<BR/><hr>two<h2>three</h2>", ["one", "two", "three"]),
        ("click <button>one</button><link>two</link>", ["click onetwo"]),
        (r"one two\nthree\r\n\r\nFour\n", ["one two", "three", "Four"]),
        (r"\tone two\tthree", ["one two", "three"]),
        (r"a {name}\nb", ["a {name}", "b"]),
        (r"use \n for lines, '\t' for tabs", [r"use \n for lines, '\t' for tabs"]),
        (r"in C:\new\table or \\server\names", [r"in C:\new\table or \\server\names"]),
        ("", []),
    ],
)
def test_texts_of_a_string(source: str, expected: list[str]) -> None:
    value = PlainValue(source)
    assert [one.text for one in value.texts] == expected
    assert joined(value) == source


@pytest.mark.parametrize("source", ["a &lt;b&gt; is bold", "a &lt; b &amp; c", "&lt;i&gt;x"])
def test_what_is_written_as_text_is_no_tag(source: str) -> None:
    value = PlainValue(source)
    said = [f"now {one.text} <u>" for one in value.texts]
    assert joined(value, *said) == f"now {source}"


@pytest.mark.parametrize(
    ("source", "said", "expected"),
    [
        ("50% off, 5 dollars", "%50 ucuz, $5", "%50 ucuz, $5"),
        ("a 50% or 75% share", "50%-ige, 75 %-ige", "50%-ige, 75 %-ige"),
        ("a 50% share", "%-ige 9%-ige", "ge 9%-ige"),
        ("50% off", "%51 ucuz", " ucuz"),
        ("50%% off", "%50 ucuz", "%% ucuz"),
        ("50% off for %s", "%s %50 ucuz", "%s  ucuz"),
    ],
)
def test_signs_of_numbers_are_no_placeholders(source: str, said: str, expected: str) -> None:
    assert joined(PlainValue(source), said) == expected


@pytest.mark.parametrize("text", ["50% off", "Yes/No", "A: B", "a {b", "a & b", "a < b"])
def test_prose_has_none(text: str) -> None:
    assert filled_in(text) == []
    assert not is_code(text)


def test_a_count_is_a_number_while_it_is_translated() -> None:
    value = PlainValue("{count} files of {name}", 3)
    assert [one.text for one in value.texts] == ["3 files of {name}"]
    assert joined(value, "Von {name} 3 Dateien") == "Von {name} {count} Dateien"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("3 Dateien in %d Ordnern", "%d Dateien in %d Ordnern"),
        ("In %d Ordnern 3 Dateien", "In %2$d Ordnern %1$d Dateien"),
    ],
)
def test_a_count_keeps_its_place_among_others(said: str, expected: str) -> None:
    value = PlainValue("%d files in %d folders", 3, APPLE)
    assert [one.text for one in value.texts] == ["3 files in %d folders"]
    assert joined(value) == "%d files in %d folders"
    assert joined(value, said) == expected


def test_placeholders_with_and_without_numbers_stay_as_they_are() -> None:
    value = PlainValue("%1$s: %d of %d", 3, APPLE)
    assert joined(value, "%1$s: 3 von %d") == "%1$s: %d von %d"


def test_placeholders_with_numbers_keep_theirs() -> None:
    value = PlainValue("%1$d of %2$d files", 3, APPLE)
    assert joined(value, "3 von %2$d Dateien") == "%1$d von %2$d Dateien"
    assert joined(value, "von %2$d Dateien 3") == "von %2$d Dateien %1$d"


@pytest.mark.parametrize(
    ("source", "read", "expected"),
    [
        ("See [more]({url}#a_b) here", "See more here", "SEE [MORE]({url}#a_b) HERE"),
        ("[a [b] c](x.html) d", "a [b] c d", "[A [B] C](x.html) D"),
        ("Press `key: x` or ![a tree](t.png)", "Press `key:x` or !a tree", None),
        ('A [b](c "d") e', "A b e", 'A [B](c "d") E'),
        ("To [[Special:Page|two words]] b", "To two words b", "TO [[Special:Page|TWO WORDS]] B"),
        ("See [[a page]] here", "See [[apage]] here", "SEE [[a page]] HERE"),
        ("no link](x) here", "no link](x) here", "NO LINK](x) HERE"),
    ],
)
def test_links_and_code_of_markdown(source: str, read: str, expected: str | None) -> None:
    value = PlainValue(source)
    assert [one.text for one in value.texts] == [read]
    assert joined(value) == source
    if expected is not None:
        assert joined(
            value, *(one.text.upper().replace("](X)", "](x)") for one in value.texts)
        ) == (expected)


def test_the_words_of_a_link_stay_in_it_wherever_they_are() -> None:
    value = PlainValue("Read `platform: cloud` [more]({url}#device_class) here")
    said = "hier more `platform:cloud` Read"
    assert joined(value, said) == "hier [more]({url}#device_class) `platform: cloud` Read"
    assert "({url}#device_class)" in joined(value, "Wort")


@pytest.mark.parametrize("mark", ["{{ name }}", "{% if a %}", "%(first name)s", "<%= a.b %>"])
def test_a_placeholder_with_spaces_is_one_word(mark: str) -> None:
    value = PlainValue(f"seven {mark} trees")
    said = " ".join(reversed(value.texts[0].text.split()))
    assert joined(value, said) == f"trees {mark} seven"


def test_entities_stay_entities() -> None:
    assert joined(PlainValue("Tom &amp; J"), "X < Y & Z") == "X  Y &amp; Z"


PARTS = ["%s", "%d", "{name}", "{{x}}", "<b>", "</b>", "<br>", "%", "{", "}", "<", "&amp;", "&"]
WORDS = st.lists(st.sampled_from([*PARTS, "word", "A.", " ", "\n", "'"]), max_size=12).map("".join)


@given(WORDS, WORDS)
def test_placeholders_come_out_as_they_went_in_whatever_the_translation(
    source: str, translation: str
) -> None:
    value = PlainValue(source)
    assert joined(value) == source
    found = joined(PlainValue(source), *[translation] * len(value.texts))

    def inside(text: str) -> Counter[str]:
        """Without the sign that programs print, which a translation may have more often."""
        names = (text[slice(*one)] for one in filled_in(text))
        return Counter(name for name in names if name != "%%")

    assert inside(found) == inside(source)
    assert found.count("<b>") == source.count("<b>")
    assert found.count("</b>") == source.count("</b>")


FORMATS = st.lists(st.sampled_from(["%s", "%d", "%%", "word", " ", "."]), max_size=8).map("".join)


@given(FORMATS, st.lists(st.sampled_from([*PARTS, "%%", "%1$s", "% f", " ", "50"]), max_size=9))
def test_whatever_the_translation_a_program_can_format_it(source: str, said: list[str]) -> None:
    value = PlainValue(source)
    found = joined(value, *["".join(said)] * len(value.texts))
    values = tuple(1 if one == "%d" else "x" for one in re.findall("%[sd%]", source) if one != "%%")
    assert (found % values).count("1") >= source.replace("%%", "").count("%d")


@pytest.mark.parametrize(
    ("source", "said", "expected"),
    [
        ("%d percent free", "%d % frei", "%d %% frei"),
        ("%(n)d percent free", "%(n)d % frei", "%(n)d %% frei"),
        ("Memory in percent: %d", "Speicher in %: %d", "Speicher in %%: %d"),
        ("Level: %d%%", "Stand: %d %", "Stand: %d%% "),
        ("Hello %1$s", "Hallo %%1$s", "Hallo %%%1$s"),
        ("%1 percent", "%1 %", "%1 %"),
        ("{n} percent", "{n} %", "{n} %"),
        ("50% of %s", "50 % von %s", "50 % von %s"),
    ],
)
def test_a_percent_sign_is_written_as_programs_need_it(
    source: str, said: str, expected: str
) -> None:
    assert joined(PlainValue(source), said) == expected


def test_what_only_a_program_could_mean_is_left_out() -> None:
    value = PlainValue("One {a} word")
    assert joined(value, "Ein %s {a} Wort {b} <i>").split() == ["Ein", "{a}", "Wort"]


def test_a_string_stays_if_its_placeholders_would_not() -> None:
    assert joined(PlainValue("All of {name}"), "100%{name}") == "All of {name}"
