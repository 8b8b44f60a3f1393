"""Strings of Apple's platforms."""

from __future__ import annotations

import plistlib

import pytest
from string_files import opened, texts, translated, written

from dragoman.core.errors import DataError

STRINGS = """/* Comment "x" = "y"; */
"hello" = "Hello %@, \\"you\\"";
// line
key.two = "Two\\nlines %1$@ \\U00e9";
"k"="v w"; "n";
"""
DICTIONARY = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <key>files</key>
    <dict>
        <key>NSStringLocalizedFormatKey</key>
        <string>%#@files@ left</string>
        <key>files</key>
        <dict>
            <key>NSStringFormatSpecTypeKey</key>
            <string>NSStringPluralRuleType</string>
            <key>NSStringFormatValueTypeKey</key>
            <string>d</string>
            <key>zero</key>
            <string>No files</string>
            <key>one</key>
            <string>%d file &amp; x</string>
            <key>other</key>
            <string>%d files</string>
        </dict>
    </dict>
</dict>
</plist>
"""


def test_strings() -> None:
    assert texts("a.strings", STRINGS) == ['Hello %@, "you"', "Two", "lines %1$@ é", "v w"]
    expected = STRINGS.replace("Hello", "HELLO").replace("you", "YOU")
    expected = expected.replace("Two\\nlines", "TWO\\nLINES").replace("\\U00e9", "É")
    assert translated("a.strings", STRINGS) == expected.replace("v w", "V W")
    assert translated("a.strings", STRINGS, by=str) == STRINGS


def test_utf16_stays() -> None:
    content = b"\xff\xfe" + STRINGS.encode("utf-16-le")
    assert written(opened("a.strings", content), str) == content


def forms(target: str) -> dict[str, str]:
    content = translated("a.stringsdict", DICTIONARY, target)
    found: dict[str, str] = plistlib.loads(content.encode())["files"]["files"]
    return {name: one for name, one in found.items() if not name.startswith("NS")}


def test_plurals() -> None:
    one = {"zero": "NO FILES", "one": "%d FILE & X"}
    assert forms("de") == {**one, "other": "%d FILES"}
    assert forms("pl") == {**one, "few": "%d FILES", "many": "%d FILES", "other": "%d FILES"}
    assert forms("ja") == {"zero": "NO FILES", "other": "%d FILES"}
    assert translated("a.stringsdict", DICTIONARY, by=str) == DICTIONARY
    assert "%#@files@ LEFT" in translated("a.stringsdict", DICTIONARY)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.strings", '"a" = "b"', "line 1: no semicolon"),
        ("a.strings", '\n"a" = "b', "line 2: a value is missing, or has no end"),
        ("a.strings", '"a" = ;', "line 1: a value"),
        ("a.strings", '"a" = "b";\n"c" = "x \\ud83d y";', "line 2: half of a surrogate pair"),
        ("a.strings", "/* x", "line 1: a comment has no end"),
        ("a.strings", b"bplist00", "binary"),
        ("a.strings", '"a"'.encode("utf-16-le"), "null characters"),
        ("a.stringsdict", "<x/>", "no property list"),
        (
            "a.stringsdict",
            "<plist><dict><key>a</key><string>b</string>\n<key>a</key></dict></plist>",
            "'a' occurs twice, again at line 2",
        ),
    ],
)
def test_bad_files(name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(name, content)


def test_sections_and_comments_of_a_stringsdict() -> None:
    content = (
        '<plist version="1.0"><dict><key>a</key><dict><key>NSStringLocalizedFormatKey</key><string>'
        "<![CDATA[One <b>two</b> & %#@n@]]></string><key>n</key><dict><key><![CDATA["
        "NSStringFormatSpecTypeKey]]></key><string>NSStringPluralRuleType</string><key>one</key>"
        "<string>%d<!-- not this --> file</string><key>other</key><string><![CDATA[%d <b>files</b>"
        "]]></string></dict></dict></dict></plist>"
    )
    assert texts("a.stringsdict", content) == ["One two & %#@n@", "1 file", "3 files"]
    found = translated("a.stringsdict", content)
    assert "<![CDATA[ONE <b>TWO</b> & %#@n@]]></string>" in found
    assert "<string><![CDATA[%d <b>FILES</b>]]></string>" in found
    assert translated("a.stringsdict", content, by=str) == content
