"""Which texts XML has."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_document import MarkupOptions
from dragoman.documents.xml import MalformedError, read_xml
from dragoman.translation.service.translated_text import (
    Rendering,
    TranslatedSentence,
    TranslatedText,
)


def said(text: str) -> TranslatedText:
    """A translation that is its source."""
    sentence = TranslatedSentence(text, 0, (Rendering(text),))
    return TranslatedText(text, "en", "de", None, (sentence,))


def texts(markup: str, options: MarkupOptions | None = None) -> list[str]:
    return [one.text for one in read_xml(markup, options).texts]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<r><p>Hi <b>x</b></p><p>Yo</p></r>", ["Hi x", "Yo"]),
        ("Press <x/> <g>here</g>", ["Press here"]),
        ("one\ntwo", ["one\ntwo"]),
        ("a <!-- b --> <![CDATA[c]]> d", ["a d"]),
        ("<w:p><W:P>one</W:P></w:p>", ["one"]),
        (
            "<?xml version='1.0' encoding='UTF-16'?>\n<!DOCTYPE x>\n<x>one &#228; &amp;lt;</x>",
            ["one ä &lt;"],
        ),
        ("<a translate='no'>one</a>", ["one"]),
        ("", []),
    ],
)
def test_elements_beside_no_text_are_texts_of_their_own(markup: str, expected: list[str]) -> None:
    assert texts(markup) == expected


def test_options_are_in_the_case_of_the_elements() -> None:
    markup = "<r><T>one</T><t>two <i>three</i></t></r>"
    assert texts(markup, MarkupOptions(ignored_tags=("t",))) == ["one"]
    assert texts(markup, MarkupOptions(splitting_tags=("i",))) == ["one", "two", "three"]
    assert texts(markup, MarkupOptions(non_splitting_tags=("T", "t"))) == ["onetwo three"]
    flat = MarkupOptions(finds_structure=False)
    assert texts(markup, flat) == ["onetwo three"]


@pytest.mark.parametrize(
    ("markup", "message"),
    [
        ("<b>one</c>", "mismatched tag at line 1, column 9"),
        ("one\n& two", "line 2, column 2"),
        ("a < b", "line 1, column 4"),
        ("&nbsp;", "undefined entity"),
        ("</x><x>", "not well-formed XML"),
        ("<a x='1' x='2'/>", "duplicate attribute"),
        ("\ud800", "not well-formed"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "declarations in its document type"),
        ("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", "declarations"),
        ("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "names a document type elsewhere"),
        ("<!DOCTYPE a SYSTEM '<['[<!ENTITY b 'c'>]><a>&b;</a>", "XML"),
    ],
)
def test_what_is_not_well_formed_is_refused(markup: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_xml(markup)


LAX = MarkupOptions(is_lax=True)
BROKEN = "not well-formed XML"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<a>one<b></a>", ["one"]),
        ("Open <b>it now", ["Open it now"]),
        ("one </i> two", ["one two"]),
        ("<i>one <b>two</i> three</b>", ["one two three"]),
        ("<p>One.<p>Two.", ["One.", "Two."]),
        ("One<br>Two<br>Three", ["One", "Two", "Three"]),
        ("AT&T & Co. at 5 < 6", ["AT&T & Co. at 5 < 6"]),
        ("<a href=x>one</a> &nbsp; two", ["one \xa0 two"]),
        ("one <b", ["one "]),
        ("one <!-- two", ["one "]),
        ("<r>one<![CDATA[ two", ["one"]),
        ("</b>", []),
    ],
)
def test_what_is_not_well_formed_is_read_if_that_is_allowed(
    markup: str, expected: list[str]
) -> None:
    with pytest.raises(MalformedError, match=BROKEN):
        texts(markup)
    found = texts(markup, LAX)
    assert [one.strip() for one in found] == [one.strip() for one in expected]


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b/>", "<b>", "</b>", "one ", "&", "<", "x"])))
def test_no_tag_is_lost_whatever_is_broken(parts: list[str]) -> None:
    markup = "".join(parts)
    document = read_xml(markup, LAX)
    written = document.joined([place_marks(one, said(one.text)) for one in document.texts])
    tags = re.compile(r"</?[ab]/?>")
    assert sorted(tags.findall(written)) == sorted(tags.findall(markup))


def test_what_could_name_files_is_refused_even_then() -> None:
    for markup in ('<!DOCTYPE x SYSTEM "file:///x"><x/>', "<!DOCTYPE x [<!ENTITY y 'z'>]><x>"):
        with pytest.raises(DataError, match="not read"):
            read_xml(markup, LAX)
