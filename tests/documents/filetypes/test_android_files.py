"""Strings of Android."""

from __future__ import annotations

import re

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
        "Don't stop",
        "now, %1$s & you",
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
        '"b">\\@\\\'\\" DON\\\'T STOP\\n\\@\\\'\\" NOW, %1$s &amp; YOU<',
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


def string(raw: str) -> str:
    return (
        f'<resources xmlns:tools="t"><string name="a" tools:ignore="b">{raw}</string></resources>'
    )


def reversed_words(text: str) -> str:
    return " ".join(reversed(text.swapcase().split()))


@pytest.mark.parametrize(
    ("raw", "read", "written"),
    [
        # sections of CDATA among words are parts of their sentence
        (
            "Hello <![CDATA[<b>big</b>]]> world",
            ["Hello big world"],
            "WORLD <![CDATA[<b>BIG</b>]]> hELLO",
        ),
        (
            "See<![CDATA[ <a href=\"x?a=1&b='2'\">%1$s & so</a>]]> &amp; <b>more</b>",
            ["See %1$s & so & more"],
            "<b>MORE</b> &amp; <![CDATA[<a href=\"x?a=1&b='2'\">SO & %1$s</a>]]> sEE",
        ),
        (
            "One<![CDATA[<br/>]]>two <i>three</i>",
            ["One", "two three"],
            "oNE<![CDATA[<br/>]]><i>THREE</i> TWO",
        ),
        (
            "One <![CDATA[two<br>three]]> four",
            ["One two", "three four"],
            "TWO oNE<![CDATA[<br>]]>FOUR THREE",
        ),
        ("<![CDATA[<p>One</p>]]> two <![CDATA[<u>three</u>]]>", ["One", "two three"], ""),
        ("%1$s<![CDATA[<b>One</b> &amp; two]]>\\n", ["One & two"], ""),
        (
            "Up <![CDATA[<b>One</b> &amp; two]]>",
            ["Up One & two"],
            "<![CDATA[TWO &amp; <b>oNE</b>]]> uP",
        ),
        # line ends are escapes
        (r"One two\nthree \n\n <b>Four\nfive</b>", ["One two", "three", "Four", "five"], ""),
        (r"<![CDATA[One\ntwo]]> three", ["One", "two three"], ""),
        # what aapt reads in its own way
        ("  a \n  b\t c ", ["a b c"], "  C B A "),
        (r"\@home \?x \u0041\'\"", ["@home ?x A'\""], r"a\'\" ?X \@home"),
        ("@home sweet", ["@home sweet"], r"SWEET \@home"),
        ("<annotation font='a'>One</annotation> <!-- note -->two", ["One two"], ""),
        (
            "<xliff:g id='a'><b>5</b></xliff:g> one",
            ["5 one"],
            "ONE <xliff:g id='a'><b>5</b></xliff:g>",
        ),
        # numbers beside placeholders
        ("On %1$s 25 or later", ["On %1$s 25 or later"], "LATER OR 25 %1$s oN"),
        ("5.0 %1$s, 25%% of 30 %2$d", ["5.0 %1$s, 25%% of 30 %2$d"], ""),
    ],
)
def test_strings_as_aapt_reads_them(raw: str, read: list[str], written: str) -> None:
    content = string(raw).replace("<resources", '<resources xmlns:xliff="x"')
    assert texts("strings.xml", content) == read
    assert translated("strings.xml", content, by=str) == content
    found = translated("strings.xml", content, by=reversed_words)
    assert not written or written in found
    again = texts("strings.xml", found)
    words = [sorted(" ".join(one).casefold().split()) for one in (read, again)]
    assert words[0] == words[1]
    signs = re.compile(r"%(?:\d\$)?[sd%]|<!\[CDATA\[|\]\]>|</?\w[^<>]*>|\\n")
    assert sorted(signs.findall(found)) == sorted(signs.findall(content))


def test_strings_that_are_items_of_a_type_are_translated() -> None:
    content = (
        '<resources><item name="a" type="string">One</item><item name="b" type="dimen">Two</item>'
        '<item type="string" name="c" translatable="false">Three</item></resources>'
    )
    assert texts("strings.xml", content) == ["One"]
