"""Every plural form is translated with its number, in whatever notation the number is."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from string_files import texts, translated

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
