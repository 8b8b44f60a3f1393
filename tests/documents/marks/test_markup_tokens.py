"""HTML and XML in tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.marks.markup_tokens import html_tokens, xml_tokens

SIGNS = st.lists(
    st.one_of(
        st.text(max_size=3),
        st.sampled_from(
            ["<", ">", "</", "<!--", "-->", "--!>", "<?", "<![CDATA[", "]]>", '"', "'"]
        ),
        st.sampled_from(
            ["<b", "<script", "</script", "<title>", "</title ", "=", " x", "/>", "<!"]
        ),
    )
).map("".join)


@given(SIGNS)
def test_tokens_join_to_the_text(text: str) -> None:
    assert "".join(token.raw for token in html_tokens(text)) == text
    assert "".join(token.raw for token in xml_tokens(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<a href="x>y" B=\'"\' c>', [("open", "a", {"href": "x>y", "b": '"', "c": ""})]),
        ("<A HREF=x/>t", [("open", "a", {"href": "x/"}), ("text", "t", {})]),
        ("<a x=1 x=2>", [("open", "a", {"x": "1"})]),
        ("<x/><br></p\n>", [("empty", "x", {}), ("empty", "br", {}), ("close", "p", {})]),
        ("a < b <3", [("text", "a < b <3", {})]),
        ("<!-- <b> --!>x", [("comment", "<!-- <b> --!>", {}), ("text", "x", {})]),
        ("<!-->x", [("comment", "<!-->", {}), ("text", "x", {})]),
        ("</ b>x", [("opaque", "</ b>", {}), ("text", "x", {})]),
        ("<!doctype html><?x <b>", [("opaque", "<!doctype html>", {}), ("opaque", "<?x <b>", {})]),
        ("<a href='x>", [("opaque", "<a href='x>", {})]),
        (
            "<title><b></titlex></TITLE>",
            [
                ("open", "title", {}),
                ("value", "<b>", {}),
                ("value", "</titlex>", {}),
                ("close", "title", {}),
            ],
        ),
        (
            "<script/>'<p>'</script>",
            [("open", "script", {}), ("opaque", "'<p>'", {}), ("close", "script", {})],
        ),
        (
            "<script><!--<script></script>--></script>x",
            [
                ("open", "script", {}),
                ("opaque", "<!--<script></script>-->", {}),
                ("close", "script", {}),
                ("text", "x", {}),
            ],
        ),
        (
            "<script><!--</script>x",
            [
                ("open", "script", {}),
                ("opaque", "<!--", {}),
                ("close", "script", {}),
                ("text", "x", {}),
            ],
        ),
        ("<plaintext><b>", [("open", "plaintext", {}), ("opaque", "<b>", {})]),
    ],
)
def test_html_is_read_as_browsers_read_it(
    text: str, expected: list[tuple[str, str, dict[str, str]]]
) -> None:
    assert [
        (one.kind, one.name or one.raw, one.attributes) for one in html_tokens(text)
    ] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<W:t a='>'/>", [("empty", "W:t")]),
        ("<br></br>", [("open", "br"), ("close", "br")]),
        ("<script><b/></script>", [("open", "script"), ("empty", "b"), ("close", "script")]),
        ("<![CDATA[<b>]]><?p a>b?>", [("opaque", "<![CDATA[<b>]]>"), ("opaque", "<?p a>b?>")]),
    ],
)
def test_xml_has_its_own_rules(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.kind, one.name or one.raw) for one in xml_tokens(text)] == expected


@pytest.mark.parametrize(
    "unit", ["<", "<a", "<!--", "</", '<a href="', "<?", "<script>", "<a b=c ", "<!", "<b>", "</b>"]
)
def test_a_page_of_one_sign_has_bounded_work(unit: str) -> None:
    text = unit * (30_000 // len(unit))
    assert sum(len(token.raw) for token in html_tokens(text)) == len(text)
    assert sum(len(token.raw) for token in xml_tokens(text)) == len(text)
