"""Strings of programs with their keys, as each format holds them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.documents.document_format import FileLanguages
from dragoman.documents.filetypes import document_format
from dragoman.documents.filetypes.spliced_document import SplicedDocument
from dragoman.text.string_files.android_entries import android_entries
from dragoman.text.string_files.apple_entries import apple_entries, apple_plural_entries
from dragoman.text.string_files.fluent_entries import fluent_entries
from dragoman.text.string_files.json_entries import json_entries
from dragoman.text.string_files.keyed_string import KeyedString
from dragoman.text.string_files.properties_entries import properties_entries
from dragoman.text.string_files.resx_entries import resx_entries
from dragoman.text.string_files.yaml_entries import yaml_entries

Reader = Callable[[bytes], list[KeyedString]]
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=12)
NESTED = st.recursive(
    TEXT,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.from_regex(r"[b-z]{4,6}", fullmatch=True), inner, max_size=3),
    ),
    max_leaves=8,
)


def leaves(value: Any, key: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """The strings of nested values, by recursion."""
    if isinstance(value, str):
        return [(key, value)]
    members = value.items() if isinstance(value, dict) else enumerate(value)
    return [one for name, inner in members for one in leaves(inner, (*key, str(name)))]


def entries(reader: Reader, text: str) -> dict[tuple[str, ...], str]:
    return dict(reader(text.encode()))


@given(st.dictionaries(st.from_regex(r"[b-z]{4,6}", fullmatch=True), NESTED, max_size=4))
def test_nested_strings_of_json_and_yaml(root: dict[str, Any]) -> None:
    expected = leaves(root)
    assert json_entries(json.dumps(root).encode()) == expected
    assert yaml_entries(yaml.safe_dump(root, allow_unicode=True, sort_keys=False).encode()) == (
        expected
    )


def test_a_language_at_the_top_is_no_key() -> None:
    assert entries(json_entries, '{"de": {"a": "b"}}') == {("a",): "b"}
    assert entries(yaml_entries, "pt-BR:\n  a: b\n  n: 3\n  t: yes\n") == {("a",): "b"}
    assert entries(json_entries, '{"de": "b"}') == {("de",): "b"}
    assert entries(json_entries, f'{{"a": "b", "n": {"9" * 5000}}}') == {("a",): "b"}
    assert entries(json_entries, '["a", {"b": "c"}]') == {("0",): "a", ("1", "b"): "c"}


def test_aliases_of_strings_have_keys_and_those_of_collections_do_not() -> None:
    assert entries(yaml_entries, "a: &x One\nb: *x\n") == {("a",): "One", ("b",): "One"}
    assert entries(yaml_entries, "a: &x {c: One}\nb: *x\n") == {("a", "c"): "One"}


def test_messages_of_chrome_and_flutter() -> None:
    chrome = '{"hi": {"message": "Hello $NAME$", "description": "x", "placeholders": {}}}'
    assert entries(json_entries, chrome) == {("hi",): "Hello $NAME$"}
    arb = '{"@@locale": "en", "hi": "Hello {name}", "@hi": {"description": "x"}}'
    assert entries(json_entries, arb) == {("hi",): "Hello {name}"}


@given(st.dictionaries(TEXT.filter(bool), TEXT, max_size=4))
def test_strings_of_apple(strings: dict[str, str]) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [
        f"/* {at} */ {quoted(key)} = {quoted(strings[key])};" for at, key in enumerate(strings)
    ]
    assert entries(apple_entries, "\n".join(lines)) == {(k,): v for k, v in strings.items()}


def test_escapes_of_apple_and_plurals() -> None:
    text = '"a \\"b\\"" = "one\\ntwo \\U00e9";\n// comment\nkey = "c";'
    assert entries(apple_entries, text) == {('a "b"',): "one\ntwo é", ("key",): "c"}
    assert dict(apple_entries('\ufeffk = "v";'.encode("utf-16-le"))) == {("k",): "v"}
    plural = (
        '<?xml version="1.0"?><plist version="1.0"><dict><key>files</key><dict>'
        "<key>NSStringLocalizedFormatKey</key><string>%#@n@</string><key>n</key><dict>"
        "<key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>"
        "<key>one</key><string>%d file</string></dict></dict></dict></plist>"
    )
    assert entries(apple_plural_entries, plural) == {
        ("files", "NSStringLocalizedFormatKey"): "%#@n@",
        ("files", "n", "one"): "%d file",
    }


def test_resources_of_android() -> None:
    text = """<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
      <string name="a">It\\'s  <b>new</b>:\\n<xliff:g id="n">%1$s</xliff:g> &amp; more</string>
      <string name="quoted">"  two  spaces"</string>
      <string name="reference">@string/a</string>
      <string name="code" translatable="false">code</string>
      <string name="section"><![CDATA[<i>x</i>]]></string>
      <string-array name="days"><item>Mon</item><item>Tue</item></string-array>
      <plurals name="files"><item quantity="one">%d file</item></plurals>
      <item type="string" name="item">\\u00e9</item><color name="c">#fff</color></resources>"""
    assert entries(android_entries, text) == {
        ("a",): "It's <b>new</b>:\n%1$s & more",
        ("quoted",): "  two  spaces",
        ("section",): "<i>x</i>",
        ("days", "0"): "Mon",
        ("days", "1"): "Tue",
        ("files", "one"): "%d file",
        ("item",): "é",
    }


@given(
    st.text(st.characters(categories=["Lu", "Ll", "Nd"], include_characters=" '.&<"), max_size=12)
)
def test_text_of_android(text: str) -> None:
    raw = escape(text).replace("'", "\\'")
    found = entries(android_entries, f"<resources><string name='a'>{raw}</string></resources>")
    assert found == {("a",): " ".join(part for part in text.split(" ") if part)}


@pytest.mark.parametrize(
    ("name", "reader", "text"),
    [
        ("a.json", json_entries, '{"a": "It \\"is\\" {n}", "b": {"c": ["One day", "x\\ny z"]}}'),
        ("a.yml", yaml_entries, "en:\n  a: 'It''s new'\n  b: |\n    two\n    lines\n"),
        ("a.properties", properties_entries, "a = It is \\\n  new\nb: One day\\u00e9\n"),
        (
            "a.resx",
            resx_entries,
            "<root><data name='a'><value>It &lt;is&gt;\n new</value></data>"
            "<data name='b' type='x'><value>no</value></data></root>",
        ),
        ("a.ftl", fluent_entries, "a = It is { $n }\n-b = One day\n    .c = no\n"),
        ("a.strings", apple_entries, '"a" = "Say \\"hello\\" now\\n";'),
    ],
)
def test_strings_are_those_that_documents_translate(name: str, reader: Reader, text: str) -> None:
    """Two readers of one file: this one with keys, that one with places."""
    document = document_format(name).read(text.encode(), FileLanguages(None, "de"))
    assert isinstance(document, SplicedDocument)
    shown = [value.source for slot in document._slots for value in slot.values]
    assert sorted(entries(reader, text).values()) == sorted(shown)


@pytest.mark.parametrize(
    ("reader", "text", "problem"),
    [
        (json_entries, '{\n"a": }', "line 2"),
        (json_entries, "[" * 100_000, "levels"),
        (yaml_entries, "a: b\n  c: d\n", "line 2"),
        (apple_entries, 'a = "b";\nc = "d"', "line 2"),
        (apple_entries, "bplist00", "binary"),
        (properties_entries, "a = b\nc = \\u00g0", r"line 2: \\u without four"),
        (properties_entries, "a = b\n\\ud83d = c", "line 2: half of a surrogate pair"),
        (resx_entries, "<root>\n<a></root>", "line 2"),
        (fluent_entries, "a = b\nc", "line 2: Expected token"),
        (resx_entries, "<resources/>", "begins with <resources>"),
        (resx_entries, '<!DOCTYPE r [<!ENTITY a "b">]><root/>', "entities"),
        (resx_entries, '<?xml version="1.0" encoding="x-no"?><root/>', "encoding"),
        (properties_entries, "a = b\0", "null characters"),
        (apple_entries, 'a = "b";\n/* never', "line 2: a comment has no end"),
        (apple_entries, 'a = "\\Ud800";', "line 1: half of a surrogate pair"),
        (yaml_entries, "a: \x01", "not YAML"),
        (apple_plural_entries, "<plist><dict>\n</plist>", "line 2"),
        (apple_plural_entries, "<plist><integer>x</integer></plist>", "no property list"),
        (android_entries, "<resources>\n<a></resources>", "line 2"),
        (android_entries, "<a/>", "<a>"),
        (android_entries, '<!DOCTYPE r [<!ENTITY a "b">]><resources/>', "entities"),
        (android_entries, "<resources><string name='a'>\\ud800</string></resources>", "surrogate"),
        (android_entries, '<?xml version="1.0" encoding="x-no"?><resources/>', "encoding"),
    ],
)
def test_damaged_files(reader: Reader, text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        reader(text.encode())
