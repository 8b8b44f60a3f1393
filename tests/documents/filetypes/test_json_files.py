"""Strings in JSON."""

from __future__ import annotations

import json

import pytest
from string_files import opened, texts, translated, written

from dragoman.core.errors import DataError


def test_strings_are_translated_and_keys_stay() -> None:
    content = (
        '{\n  "a b": {"c": "Hi {{name}}, you \\"x\\"", "n": 3, "u": "https://x.y"},\n'
        '  "list": ["One", true, 1.50],\n  "p": "{n, plural, one {# dog} other {# dogs}}"\n}\n'
    )
    expected = content.replace("Hi", "HI").replace(', you \\"x', ', YOU \\"X')
    expected = expected.replace("One", "ONE").replace("# dog", "# DOG").replace("DOGs", "DOGS")
    assert translated("a.json", content) == expected


def test_plural_forms_of_i18next() -> None:
    content = '{\n  "f_one": "{{count}} file",\n  "f_other": "{{count}} files"\n}'
    found = translated("a.json", content, "pl")
    assert found == (
        '{\n  "f_one": "{{count}} FILE",\n  "f_other": "{{count}} FILES",\n'
        '  "f_few": "{{count}} FILES",\n  "f_many": "{{count}} FILES"\n}'
    )
    assert texts("a.json", content, "ja") == ["1 file", "3 files"]
    content = '{"p_ordinal_one": "{{count}}st", "p_ordinal_other": "{{count}}th"}'
    assert translated("a.json", content, by=str).startswith('{"p_ordinal_one"')


def test_messages_of_chrome() -> None:
    content = (
        '{"t": {"message": "Hi $USER$", "description": "d e", '
        '"placeholders": {"user": {"content": "$1"}}}}'
    )
    assert translated("messages.json", content) == content.replace("Hi", "HI")


def test_arb() -> None:
    content = '{"@@locale": "en", "@@x": "a b", "t": "Hi {u}", "@t": {"description": "d e"}}'
    expected = content.replace("Hi", "HI").replace('"en"', '"de"')
    assert translated("app_en.arb", content) == expected
    assert opened("app_en.arb", content).source_language == "en"


def test_a_language_at_the_top_becomes_the_target() -> None:
    assert translated("a.json", '{"en": {"a": "b c"}}', "pt-BR") == '{"pt-BR": {"a": "B C"}}'
    assert translated("a.json", '{"en": {"a": "b c"}}', "de", "fr") == '{"en": {"a": "B C"}}'
    assert translated("a.json", '{"ilo": {"a": "b c"}}', "en", "ilo") == '{"en": {"a": "B C"}}'
    assert translated("a.json", '{"ilo": {"a": "b c"}}', "en", None) == '{"en": {"a": "B C"}}'
    assert translated("a.json", '{"deu": {"a": "b c"}}', "en", "de") == '{"en": {"a": "B C"}}'
    assert translated("a.json", '{"doc": {"a": "b c"}}', "en", None) == '{"doc": {"a": "B C"}}'


def test_what_was_escaped_is() -> None:
    content = '{"a": "caf\\u00e9 \\ud83d\\ude00"}'
    assert texts("a.json", content) == ["café 😀"]
    assert translated("a.json", content) == '{"a": "CAF\\u00c9 \\ud83d\\ude00"}'
    document = opened("a.json", b'\xef\xbb\xbf{"a": "caf\xc3\xa9"}')
    assert written(document) == b'\xef\xbb\xbf{"a": "CAF\xc3\x89"}'
    assert json.loads(translated("a.json", '{"a": "b"}', by=lambda _: 'x"\\\n\x01')) == {
        "a": 'x"\\\n\x01'
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON: Expecting value at line 1"),
        ('{"a"\n 1}', "line 2, column 2"),
        ('{"a": "b",\n "a": "c"}', "'a' occurs twice, at lines 1 and 2"),
        ('\n{"a": "\\ud800"}', "surrogate pair at line 2"),
        ("[" * 300 + "]" * 300, "200 levels"),
        ("[" * 300_000, "200 levels"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 8"),
        ('{"a": "b" // c\n}', "line 1"),
    ],
)
def test_bad_files(content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.json", content)
