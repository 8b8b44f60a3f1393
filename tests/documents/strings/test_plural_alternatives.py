"""Alternatives of a plural in one string: each is translated apart."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from string_files import texts, translated

from dragoman.documents.strings.plural_alternatives import read_alternatives
from dragoman.documents.strings.string_syntax import ANY


def of_json(source: str, target: str = "de") -> tuple[list[str], str]:
    content = json.dumps({"a": source})
    after = json.loads(translated("a.json", content, target))["a"]
    return texts("a.json", content, target), after


@pytest.mark.parametrize(
    ("source", "read", "expected"),
    [
        ("no car | one car | {count} cars", ["no car", "one car", "5 cars"], None),
        ("car | cars", ["car", "cars"], None),
        ("{n} car | <b>{n} cars</b>", ["1 car", "5 cars"], "{n} CAR | <b>{n} CARS</b>"),
        ("seven |||| nine", ["seven", "nine"], None),
        ("yes|no", ["yes", "no"], None),
        ("Terms | Privacy", ["Terms", "Privacy"], None),
        ("Hello {name} | Bye {name}", ["Hello {name}", "Bye {name}"], "HELLO {name} | BYE {name}"),
        (
            "{0} none|[1,19] some of :count|[20,*] many",
            ["none", "some of 3", "many"],
            "{0} NONE|[1,19] SOME OF :count|[20,*] MANY",
        ),
        (
            "{0} no tree|{1} a tree|]1,Inf] %count% trees",
            ["no tree", "a tree", "3 trees"],
            "{0} NO TREE|{1} A TREE|]1,Inf] %count% TREES",
        ),
        ("[-Inf,0[ less|[100,*] over %count%", ["less", "over 100"], None),
        (
            "one: a tree|some: %count% trees",
            ["a tree", "5 trees"],
            "one: A TREE|some: %count% TREES",
        ),
        ("1 tree\x03@count trees", ["1 tree", "5 trees"], "1 TREE\x03@count TREES"),
        (" | a tree", ["a tree"], " | A TREE"),
    ],
)
def test_each_is_a_text(source: str, read: list[str], expected: str | None) -> None:
    wanted = source.upper() if expected is None else expected
    if "count" in source and expected is None:
        wanted = wanted.replace("COUNT", "count")
    assert of_json(source) == (read, wanted.replace("INF", "Inf"))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("%{smart_count} car |||| %{smart_count} cars", "ru", 3),
        ("%{smart_count} car |||| %{smart_count} cars", "ja", 1),
        ("%{smart_count} car |||| %{smart_count} cars", "sl", 4),
        (":count car|:count cars", "pl", 3),
        (":count car|:count cars", "ar", 6),
        (":count car|:count cars", "tr", 1),
        (":count car|:count cars", "pt-BR", 2),
        ("%count% car|%count% cars", "cs", 3),
        ("{count} car | {count} cars", "ru", 2),  # vue-i18n has no rule for it
        ("{{ limit }} car|{{ limit }} cars", "pl", 3),
        ("{{ limit }} car | {{ limit }} cars", "pl", 2),
        ("one car|many cars", "pl", 2),
        ("Terms | Privacy", "pl", 2),
        ("{0} no car|{1} a car|[2,*] :count cars", "pl", 3),
    ],
)
def test_the_target_has_the_forms_that_the_library_reads(
    source: str, target: str, expected: int
) -> None:
    _, after = of_json(source, target)
    assert len(after.replace("||||", "|").split("|")) == expected
    for name in ("%{smart_count}", ":count", "%count%"):
        if name in source:
            assert after.count(name) >= 1


def test_forms_of_russian_are_translated_with_their_numbers() -> None:
    read, _ = of_json("%{smart_count} car |||| %{smart_count} cars", "ru")
    assert read == ["1 car", "3 cars", "5 cars"]
    read, _ = of_json("one car |||| %{smart_count} cars", "ru")
    assert read == ["21 cars", "3 cars", "5 cars"]  # the first is for 21, too


@pytest.mark.parametrize(
    "source",
    [
        "[[A|two words]] here",
        "(one | two) ways",
        "a || b is true",
        "{name | upper} said so",
        "<b>one | two</b> now",
        "plain",
        "|".join("abcdefghijklmn"),
    ],
)
def test_what_is_one_text(source: str) -> None:
    assert read_alternatives(source, "de", ANY) is None


def test_alternatives_in_xliff_are_escaped() -> None:
    content = (
        '<xliff version="1.2"><file source-language="en" target-language="de"><trans-unit id="1">'
        "<source>]-Inf,1] A &amp; B|]1,Inf] %count% C &lt; D</source></trans-unit></file></xliff>"
    )
    assert texts("a.xlf", content) == ["A & B", "3 C < D"]
    assert ">]-Inf,1] A &amp; B|]1,Inf] %count% C &lt; D</target>" in translated("a.xlf", content)


def test_an_alternative_that_cannot_be_written_leaves_the_string() -> None:
    content = json.dumps({"a": "a tree | {count} trees"})

    def model(text: str) -> str:
        return f"{text} | x"

    assert translated("a.json", content, by=model) == content


@given(
    st.lists(st.sampled_from(["a tree", "{count} trees", "", "no tree"]), min_size=2, max_size=5)
)
def test_nothing_is_lost(parts: list[str]) -> None:
    for separator in ("|", " | "):
        source = separator.join(parts)
        assert of_json(source)[1].replace("{COUNT}", "{count}") == source.upper().replace(
            "{COUNT}", "{count}"
        )
