"""Parts as tokens, whatever their prefixes are."""

from __future__ import annotations

import pytest

from dragoman.core.errors import DataError
from dragoman.documents.office.part_tokens import attribute, part_tokens, written_name

_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"


def names(text: str) -> list[str]:
    return [token.name for token in part_tokens(text)]


def test_names_do_not_depend_on_prefixes() -> None:
    assert names(f'<x:p xmlns:x="{_MAIN}"><x:t/></x:p>') == ["w:p", "w:t", "w:p"]
    assert names(f'<p xmlns="{_STRICT}"><t/></p>') == ["w:p", "w:t", "w:p"]
    assert names('<w:p xmlns:w="urn:x"/>') == ["?:p"]


def test_prefixes_hold_where_they_are_declared() -> None:
    text = f'<a><p xmlns="{_MAIN}"><b xmlns=""/><c/></p><p xmlns="{_MAIN}"/><d/></a>'
    assert names(text) == ["?:a", "w:p", "?:b", "w:c", "w:p", "w:p", "?:d", "?:a"]


def test_tokens_join_to_the_same_text_again() -> None:
    text = f'<?xml version="1.0"?>\r\n<x:p xmlns:x = "{_MAIN}" x:id=\'7\' ><!-- > -->\t&lt;</x:p >'
    tokens = list(part_tokens(text))
    assert "".join(token.raw for token in tokens) == text
    assert (attribute(tokens[2], "id"), attribute(tokens[2], "no")) == ("7", "")
    assert written_name(tokens[2]) == written_name(tokens[-1]) == "x:p"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a>", "not well-formed XML: mismatched tag at line 1"),
        ("<!DOCTYPE a><a/>", "document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "document type"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "document type"),
        ("<a>" * 201 + "</a>" * 201, "more than 200 deep"),
    ],
)
def test_hostile_xml_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        names(text)
