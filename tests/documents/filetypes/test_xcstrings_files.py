"""String catalogues of Xcode."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from string_files import opened, texts, translated

from dragoman.core.errors import DataError
from soak.fuzzing.target import seed

CATALOGUE = seed("texts.xcstrings").content.decode()


def unit(text: str, state: str = "needs_review") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": text}}


def localizations(content: str, language: str) -> dict[str, Any]:
    entries = json.loads(content)["strings"].items()
    found = {key: entry.get("localizations", {}).get(language) for key, entry in entries}
    return {key: one for key, one in found.items() if one is not None}


def as_xcode_writes_it(content: str) -> str:
    raw = json.dumps(json.loads(content), indent=2, separators=(",", " : "), ensure_ascii=False)
    return raw.replace("{}", "{\n\n    }") + "\n"


@pytest.mark.parametrize("language", ["de", "fr", "pl", "ja", "zh-Hans"])
def test_a_new_language_is_written_as_xcode_would(language: str) -> None:
    content = translated("a.xcstrings", CATALOGUE, language)
    assert content == as_xcode_writes_it(content)
    before, after = json.loads(CATALOGUE), json.loads(content)
    for entry in [*before["strings"].values(), *after["strings"].values()]:
        entry.get("localizations", {}).pop(language, None)
        if entry.get("localizations") == {}:
            del entry["localizations"]
    assert after == before


def test_strings_in_german() -> None:
    assert texts("a.xcstrings", CATALOGUE) == [
        *("1 file", "3 files", "Hello %@", "%#@files@ left", "1 file", "3 files")
    ]
    found = localizations(translated("a.xcstrings", CATALOGUE), "de")
    forms = {"one": unit("%lld FILE"), "other": unit("%lld FILES")}
    assert found == {
        "%lld files": {"variations": {"plural": forms}},
        "Hello %@": unit("HELLO %@"),
        "Tap here": unit("Hier tippen", "translated"),
        "left": {
            **unit("%#@files@ LEFT"),
            "substitutions": {
                "files": {
                    "argNum": 1,
                    "formatSpecifier": "lld",
                    "variations": {
                        "plural": {"one": unit("%arg FILE"), "other": unit("%arg FILES")}
                    },
                }
            },
        },
    }
    assert translated("a.xcstrings", translated("a.xcstrings", CATALOGUE)) == translated(
        "a.xcstrings", CATALOGUE
    )


def test_devices_and_forms_of_a_language() -> None:
    found = localizations(translated("a.xcstrings", CATALOGUE, "pl"), "pl")
    assert list(found["%lld files"]["variations"]["plural"]) == ["one", "few", "many", "other"]
    assert found["Tap here"] == {
        "variations": {"device": {"mac": unit("CLICK HERE"), "other": unit("TAP HERE")}}
    }


@pytest.mark.parametrize(
    "content",
    [
        '{"sourceLanguage":"en","strings":{"Some day":{},"a b":{"localizations":{}}}}',
        '{"sourceLanguage": "en", "strings": {"Some day": {"comment": "c"}}, "version": "1.0"}\n',
    ],
)
def test_other_layouts(content: str) -> None:
    found = translated("a.xcstrings", content)
    assert localizations(found, "de")["Some day"] == unit("SOME DAY")
    assert found.startswith(content[: content.index("{}")] if "{}" in content else content[:50])


@given(st.text(st.characters(codec="utf-8", categories=["L", "P", "Zs"]), min_size=1))
def test_any_key_is_its_own_string(key: str) -> None:
    content = json.dumps({"sourceLanguage": "en", "strings": {f"Word {key}": {}}}, indent=2)
    found = translated("a.xcstrings", content, by=str)
    assert localizations(found, "de") == {f"Word {key}": unit(f"Word {key}")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "lacks sourceLanguage or strings"),
        ('{"sourceLanguage": "en", "strings": []}', "lacks sourceLanguage or strings"),
        ('{"sourceLanguage": "en",\n"strings": {', "line 2"),
        ('{"sourceLanguage": "en", "strings": {"a": {}, "a": {}}}', "'a' occurs twice"),
        (
            f'{{"sourceLanguage": "en", "strings": {{"a b": {{"x": {"9" * 5000}}}}}}}',
            "5,000 digits",
        ),
        (
            '{"sourceLanguage": "en", "strings": {"a b": {"localizations": {"en":\n'
            + '{"variations": {"device": {"mac": ' * 9
            + '{"stringUnit": {"value": "a b"}}'
            + "}}}" * 9
            + "}}}}",
            "line 2: variations with more than 8 levels",
        ),
    ],
)
def test_damaged_files(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.xcstrings", content)


def test_a_source_in_another_language_is_refused() -> None:
    with pytest.raises(DataError, match="says that it is in 'en', not 'fr'"):
        opened("a.xcstrings", CATALOGUE, source="fr")
