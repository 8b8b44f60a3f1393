"""Plural forms of languages."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from string_files import texts, translated

from dragoman.core.errors import DataError
from dragoman.documents.strings.plural_rules import (
    catalogue_forms,
    catalogue_rule,
    catalogue_values,
    plural_forms,
    source_forms,
)
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


COUNTS = """
    %d|%i|%u|%ld|%lld|%zu|%'d|%,d|%1$d|%s|%1$s|%@|%(count)d|%(num)s|{count}|{n}|{0}|{}|{ count }
    {count:,}|{0:N0}|{count, number}|{{count}}|{{ count }}|{{count, number}}|{{{count}}}|%{count}
    %<count>d|${count}|${resultCount}|$count|:count|%count%|@count|!count|%n|%1|%L1|%1%|%v|%x
    [count]|[[count]]|__count__|#{count}|{num_files}|{fileCount}|%<PRIu64>|{ $count }|<%= count %>
"""
NOTATIONS = [one.strip() for line in COUNTS.strip().split("\n") for one in line.split("|")]
RULE = (
    "nplurals=3; plural=n%10==1 && n%100!=11 ? 0 "
    ": n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2;"
)


def po(one: str, other: str) -> str:
    return (
        f'msgid ""\nmsgstr "Language: ru\\nPlural-Forms: {RULE}\\n"\n\nmsgid "{one}"\n'
        f'msgid_plural "{other}"\nmsgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] ""\n'
    )


def android(one: str, other: str) -> str:
    def item(name: str, text: str) -> str:
        raw = text.replace("<", "&lt;").replace("'", r"\'")
        return f'<item quantity="{name}">{raw}</item>'

    items = item("one", one) + item("other", other)
    return f'<resources><plurals name="a">{items}</plurals></resources>'


def apple(one: str, other: str) -> str:
    forms = "".join(
        f"<key>{name}</key><string>{text.replace('<', '&lt;')}</string>"
        for name, text in (("one", one), ("other", other))
    )
    rule = "<key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>"
    return f'<plist version="1.0"><dict><key>a</key><dict>{rule}{forms}</dict></dict></plist>'


FORMATS: dict[str, Callable[[str, str], str]] = {
    "a.po": po,
    "a.json": lambda one, other: json.dumps({"t_one": one, "t_other": other}),
    "b.json": lambda one, other: json.dumps({"t": {"one": one, "other": other}}),
    "a.yml": lambda one, other: (
        f"en:\n  t:\n    one: {json.dumps(one)}\n    other: {json.dumps(other)}\n"
    ),
    "strings.xml": android,
    "a.stringsdict": apple,
}


@pytest.mark.parametrize(
    ("name", "notation"),
    [
        pytest.param(
            name,
            notation,
            marks=[pytest.mark.exhaustive] * (name != "a.po" and notation != NOTATIONS[0]),
        )
        for name in FORMATS
        for notation in NOTATIONS
    ],
)
def test_each_form_of_russian_has_its_number(name: str, notation: str) -> None:
    content = FORMATS[name]("one tree", f"{notation} trees")
    read = texts(name, content, "ru")
    assert {"3 trees", "5 trees"} < set(read)
    # The form for 1 is for 21, too.
    assert set(read) - {"3 trees", "5 trees"} == {"21 trees"}
    assert "TREES" in translated(name, content, "ru")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("{user} has one tree", "{user} has {trees} trees", "{user} has 3 trees"),
        ("one tree in %s", "%d trees in %s", "3 trees in %s"),
        ("%1$s has %2$d tree", "%1$s has %2$d trees", "%1$s has 3 trees"),
        ("{{name}}: one tree", "{{count}} trees of {{name}}", "3 trees of {{name}}"),
        (":name has one tree", ":name has :count trees", ":name has 3 trees"),
        ("%(n)s: %(trees)d tree", "%(n)s: %(trees)d trees", "3: %(trees)d trees"),
    ],
)
@pytest.mark.parametrize("name", ["a.po", "a.yml", "b.json", "strings.xml"])
def test_the_count_among_others(name: str, one: str, other: str, expected: str) -> None:
    assert expected in texts(name, FORMATS[name](one, other), "ru")
