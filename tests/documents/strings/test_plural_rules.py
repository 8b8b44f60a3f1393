"""Plural forms of languages."""

from __future__ import annotations

import pytest

from dragoman.core.errors import DataError
from dragoman.documents.strings.plural_rules import catalogue_forms, catalogue_rule, plural_forms
from dragoman.documents.strings.plural_strings import catalogue_values, source_forms
from dragoman.documents.strings.string_syntax import APPLE

POLISH = "n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", {"one": 1, "other": 3}),
        ("pl-PL", {"one": 1, "few": 3, "many": 5, "other": 5}),
        ("ja", {"other": 3}),
        ("ar", {"zero": 0, "one": 1, "two": 2, "few": 3, "many": 11, "other": 100}),
    ],
)
def test_samples(language: str, expected: dict[str, int]) -> None:
    assert {name: one.sample() for name, one in plural_forms(language).items()} == expected


def test_ordinals_are_other_forms() -> None:
    assert list(plural_forms("en", "ordinal")) == ["one", "two", "few", "other"]


def test_a_form_for_more_than_one_number_needs_a_text_with_the_number() -> None:
    given = {"one": "one file", "other": "{count} files"}
    assert source_forms(given, "de")["one"] == ("one", 1)
    assert source_forms(given, "ru")["one"] == ("other", 21)
    assert source_forms(given | {"one": "{count} file"}, "ru")["one"] == ("one", 1)


def test_rules_of_catalogues() -> None:
    assert [one.sample() for one in catalogue_forms(POLISH, 3)] == [1, 3, 5]
    count, rule = catalogue_rule("pl_PL")
    assert [one.sample() for one in catalogue_forms(rule, count)] == [1, 3, 5]
    values = catalogue_values("%d file", "%d files", (3, POLISH), APPLE)
    assert [one.texts[0].text for one in values] == ["1 file", "3 files", "5 files"]


@pytest.mark.parametrize(
    ("rule", "count", "message"),
    [
        ("n", 2, "beyond nplurals=2"),
        ("1/n", 2, "no plural rule"),
        ("__import__('os')", 2, "no plural rule"),
        ("(" * 900 + "n" + ")" * 900, 2, "no plural rule"),
    ],
)
def test_bad_rules(rule: str, count: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        catalogue_forms(rule, count)


@pytest.mark.parametrize("language", ["xx", "", "../etc"])
def test_unknown_languages(language: str) -> None:
    with pytest.raises(DataError, match="not known"):
        plural_forms(language)
    with pytest.raises(DataError, match="not known"):
        catalogue_rule(language)


@pytest.mark.parametrize("language", ["fr_XX", "fr-CA-x-foo", "fr-FR-1694acad", "fr_"])
def test_a_name_that_nobody_knows_to_its_end_is_that_of_its_language(language: str) -> None:
    assert catalogue_rule(language) == catalogue_rule("fr") == (2, "(n > 1)")
    assert list(plural_forms(language)) == list(plural_forms("fr"))
