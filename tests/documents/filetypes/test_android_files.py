"""Strings of Android."""

from __future__ import annotations

import pytest
from string_files import opened, texts, translated

from dragoman.core.errors import DataError

FILE = """<?xml version="1.0" encoding="utf-8"?>
<!-- c -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="a" translatable="false">My App</string>
    <string name="b">Don\\'t stop\\nnow, %1$s &amp; you</string>
    <string name="c">"  quoted it's  "</string>
    <string name="d">Hi <xliff:g id="x" example="Bob">%1$s</xliff:g>, <b>bold</b>!</string>
    <string name="e">@string/a</string>
    <string name="f">?attr/foo</string>
    <string name="g"><![CDATA[<a href="%s">Don\\'t</a> click<br/>here]]></string>
    <string name="h">\\u0020Lead\\u0020</string>
    <string name="i">%s of %d</string>
    <string name="j">
        Long text
        over lines
    </string>
    <string name="k">&lt;b>Esc&lt;/b>aped</string>
    <string name="l"/>
    <string-array name="m"><item>One</item><item>@string/d</item></string-array>
    <plurals name="n">
        <item quantity="one">%d file</item>
        <item quantity="other">%d files</item>
    </plurals>
</resources>
"""


def test_texts() -> None:
    assert texts("strings.xml", FILE) == [
        "Don't stop\nnow, %1$s & you",
        "quoted it's",
        "Hi %1$s, bold!",
        "Don't click",
        "here",
        "Lead",
        "%s of %d",
        "Long text over lines",
        "Escaped",
        "One",
        "1 file",
        "3 files",
    ]


def test_escapes_and_tags_are_written() -> None:
    found = translated("strings.xml", FILE, by=lambda text: f"@'\"< {text.upper()}")
    for line in (
        '"a" translatable="false">My App<',
        '"b">\\@\\\'\\" DON\\\'T STOP\\nNOW, %1$s &amp; YOU<',
        '"c">"  \\@\\\'\\" QUOTED IT\\\'S  "<',
        '<xliff:g id="x" example="Bob">%1$s</xliff:g>, <b>BOLD</b>!<',
        '"e">@string/a<',
        '"f">?attr/foo<',
        '<a href="%s">DON\\\'T</a> CLICK<br/>',
        "HERE]]><",
        "LEAD\\u0020<",
    ):
        assert line in found


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_backslash_at_the_end_stays_one(quote: str) -> None:
    string = f'<resources><string name="a">{quote}{{}}{quote}</string></resources>'
    for raw, written in ((r"use a\\n", r"USE A\\N"), (r"use a\\\n", r"USE A\\\n")):
        assert translated("a.xml", string.format(raw)) == string.format(written)


def test_placeholders_in_another_order_get_numbers() -> None:
    found = translated("strings.xml", FILE, by=lambda text: text.replace("%s of %d", "%d %s"))
    assert ">%2$d %1$s<" in found


def test_plurals_are_those_of_the_target() -> None:
    found = translated("strings.xml", FILE, "pl", by=str)
    lead = "\n        "
    assert found == FILE.replace(
        f'{lead}<item quantity="other">',
        f'{lead}<item quantity="few">%d files</item>{lead}<item quantity="many">%d files</item>'
        f'{lead}<item quantity="other">',
    )
    found = translated("strings.xml", FILE, "ja", by=str)
    assert found == FILE.replace(f'{lead}<item quantity="one">%d file</item>', "")


@pytest.mark.parametrize("words", ["Hi \\ud83d\\ude00 you", "<![CDATA[Hi \\ud83d\\uDE00 you]]>"])
def test_two_escapes_can_be_a_character(words: str) -> None:
    content = f'<resources><string name="a">{words}</string></resources>'
    assert texts("strings.xml", content) == ["Hi \U0001f600 you"]
    assert "HI \U0001f600 YOU" in translated("strings.xml", content)
    assert translated("strings.xml", content, by=str) == content


@pytest.mark.parametrize("space", ["\u00a0", "&#160;", "\u202f", "\u3000"])
def test_spaces_that_are_no_ascii_stay(space: str) -> None:
    content = f'<resources><string name="a">5{space}km  to\n go</string></resources>'
    written = space.replace("&#160;", "\u00a0")
    assert translated("strings.xml", content) == (
        f'<resources><string name="a">5{written}KM TO GO</string></resources>'
    )


def test_identity_gives_the_same_bytes() -> None:
    assert translated("strings.xml", FILE, by=str) == FILE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<html/>", "begins with <html>"),
        ("<resources>", "mismatched tag"),
        ('<!DOCTYPE r [<!ENTITY a "b">]><resources/>', "declarations"),
        ('<!DOCTYPE r [<!ENTITY a SYSTEM "/etc/passwd">]><resources/>', "declarations"),
        ('<resources>\n<string name="a">Hi \\ud83d you</string></resources>', "line 2: half"),
        (
            '<resources>\n<plurals name="a"><item quantity="other">\\ude00\\ud83d</item></plurals>'
            "</resources>",
            "line 2: half",
        ),
        ('<resources><string name="a">&app;</string></resources>', "undefined entity"),
    ],
)
def test_bad_files(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.xml", content)


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ("one<br/>two", ["one", "two"]),
        ("<b>one<br/>two</b> x", ["one", "two x"]),
        ("one&lt;br&gt;\\ntwo \\n &lt;br/&gt;three", ["one", "two", "three"]),
        ("<ul><li>one</li><li>two</li></ul>", ["one", "two"]),
        ("one.<x/>Two", ["one.", "Two"]),
        ('"one<br/>  two"', ["one", "two"]),
    ],
)
def test_elements_and_escaped_tags_that_part_a_text(raw: str, found: list[str]) -> None:
    file = f'<resources><string name="a">{raw}</string></resources>'
    assert texts("a.xml", file) == found
    wanted = file
    for word in ("one", "two", "Two", "three"):
        wanted = wanted.replace(word, word.upper())
    assert translated("a.xml", file) == wanted.replace("</b> x", "</b> X")
