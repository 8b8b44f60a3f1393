"""Presentations of LibreOffice."""

from __future__ import annotations

import pytest
from office_files import ReversingService, body_of, odt, part, translated

from dragoman.translation.service.interface import RefusedError

_SLIDE = (
    '<presentation:footer-decl presentation:name="f">{}</presentation:footer-decl><draw:page '
    'draw:name="Slide one"><draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box>'
    "<svg:desc>{}</svg:desc></draw:frame><draw:custom-shape><text:p>{}<presentation:footer/>"
    "</text:p></draw:custom-shape><presentation:notes><text:p>{}</text:p></presentation:notes>"
    "<office:annotation><dc:creator>Ann</dc:creator><text:p>{}</text:p></office:annotation>"
    "</draw:page>"
)


def odp(body: str, **others: str) -> bytes:
    return odt(body, kind="presentation", **others)


def test_slides_notes_comments_and_footers_are_translated_and_names_are_not() -> None:
    words = ["the foot", "a title", "what is seen", "in a shape ", "a note", "a comment"]
    found = body_of(translated("a.odp", odp(_SLIDE.format(*words))), "content.xml")
    after = [
        *("THE FOOTde", "A TITLEde", "WHAT IS SEENde", "IN A SHAPEde "),
        *("A NOTEde", "A COMMENTde"),
    ]
    assert found == _SLIDE.format(*after)


def test_words_that_stay_change_nothing_and_macros_are_kept() -> None:
    content = odp(_SLIDE.format(*"abcdef"), **{"Basic/Standard/Module1.xml": "<a>one</a>"})
    assert translated("a.odp", content, ReversingService(reverses=False)) == content
    assert part(translated("a.odp", content), "Basic/Standard/Module1.xml") == "<a>one</a>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (odt(""), r"not a presentation \(\.odp\), but 'application/vnd\.oasis\..*text'"),
        (odp("<text:p>" * 30 + "</text:p>" * 30), "more than 16 paragraphs"),
        (odp("", **{"content.xml": '<!DOCTYPE a SYSTEM "file:///b"><a/>'}), "document type"),
    ],
)
def test_hostile_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        translated("a.odp", content)
