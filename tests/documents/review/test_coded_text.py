"""Texts with inline elements of XLIFF."""

from __future__ import annotations

import pytest
from string_files import opened

from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.markup_tokens import xml_tokens
from dragoman.documents.review.coded_text import CodedText, InlineElement, parts_of
from dragoman.translation.service.translated_text import TranslatedText

PARTS = ["a ", InlineElement("open", "1"), "b", InlineElement("close", "1"), " & c"]


@pytest.mark.parametrize(
    "written",
    [
        'a <g id="1">b</g> &amp; c',
        '<mrk mtype="seg" mid="1">a <g id="1" >b</g></mrk><![CDATA[ & c]]>',
        'a <g id="1">b</g > &#38; c',
    ],
)
def test_whatever_tool_has_written_it(written: str) -> None:
    assert list(parts_of(list(xml_tokens(written)))) == PARTS


def test_empty_elements() -> None:
    point, *pair = (
        InlineElement("alone", "2"),
        InlineElement("open", "1"),
        InlineElement("close", "1"),
    )
    assert list(parts_of(list(xml_tokens('<x id="2"></x><g id="1"/>')))) == [point, *pair]
    assert list(parts_of(list(xml_tokens('<x id="2"/><g id="1"></g>')))) == [point, *pair]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", "<p>One <b>two</b> three <br> four <img src='a'>, {x}&nbsp;five"),
        ("a.md", "One **two** `three` [four](a) ![five](b)\n"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i>One\n{\\an8}two</i> three\n"),
    ],
)
def test_a_translation_comes_back_as_the_document_has_it(name: str, content: str) -> None:
    document = opened(name, content)
    for text in document.texts:
        answer = TranslatedText(text.text.upper(), "", "", None, ())
        coded = CodedText(text)
        parts = list(parts_of(list(xml_tokens(coded.target(answer)))))
        expected = place_marks(text, answer, document.escape)
        assert coded.decoded(parts, document.escape) == expected
