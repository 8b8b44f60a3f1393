"""Which texts XML has."""

from __future__ import annotations

import pytest

from dragoman.core.errors import DataError
from dragoman.documents.marked_document import MarkupOptions
from dragoman.documents.xml import read_xml


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
