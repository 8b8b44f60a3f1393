"""Strings of Mozilla's Fluent."""

from __future__ import annotations

import pytest
from fluent.syntax import FluentParser, ast
from hypothesis import given
from hypothesis import strategies as st
from string_files import opened, texts, translated

from dragoman.core.errors import DataError
from soak.fuzzing.target import seed

CONTENT = seed("texts.ftl").content.decode()
ODD = st.text("ab {}[]*.#|'\"\\\n&<é", max_size=12)


def messages(content: str) -> dict[str, ast.Message | ast.Term]:
    body = FluentParser(with_spans=False).parse(content).body
    assert not any(isinstance(one, ast.Junk) for one in body), content
    return {one.id.name: one for one in body if isinstance(one, (ast.Message, ast.Term))}


def test_a_file() -> None:
    assert texts("a.ftl", CONTENT) == [
        "Hello {name}, it's #1",
        "a second line",
        "indented",
        "You have one file in {brand}.",
        "You have 3 files in {brand}.",
        "Some {x} {x2}",
        "No file",
        "One file",
        "{n2} of 3 files",
        "{user} liked his photo",
        "{user} liked their photo",
        "Firefox Browser",
    ]
    written = translated("a.ftl", CONTENT)
    assert (
        """files =
    { $n ->
        [one] YOU HAVE ONE FILE IN { -brand }.
       *[other] YOU HAVE { $n } FILES IN { -brand }.
    }
    .accesskey = F
    .label = SOME { "x" } { "{" }
"""
        in written
    )
    assert "hello = HELLO { $name }, IT'S #1\n    A SECOND LINE\n      INDENTED\n" in written
    assert "    .gender = masculine" in written
    assert messages(written).keys() == messages(CONTENT).keys()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_does_not_change_keeps_its_bytes(newline: str) -> None:
    content = CONTENT.replace("\n", newline)
    assert translated("a.ftl", content, by=str) == content
    assert translated("a.ftl", content) == translated("a.ftl", CONTENT).replace("\n", newline)


def test_the_forms_of_the_target_language() -> None:
    written = messages(translated("a.ftl", CONTENT, target="pl"))
    pattern = written["done"].value
    assert pattern is not None
    (placeable,) = pattern.elements
    assert isinstance(placeable, ast.Placeable)
    assert isinstance(placeable.expression, ast.SelectExpression)
    keys = [
        one.key.name if isinstance(one.key, ast.Identifier) else one.key.value
        for one in placeable.expression.variants
    ]
    assert keys == ["0", "one", "few", "many", "other"]


@given(ODD)
def test_whatever_a_model_says_is_text(said: str) -> None:
    written = messages(translated("a.ftl", "a = Hello you\nb = End\n", by=lambda _: said))
    assert list(written) == ["a", "b"]
    pattern = written["a"].value
    assert pattern is not None
    shown = ""
    for one in pattern.elements:
        if isinstance(one, ast.TextElement):
            shown += one.value
        else:
            assert isinstance(one.expression, ast.StringLiteral)
            shown += one.expression.parse()["value"]
    if shown != "Hello you" and not set(said) & set("<&{}"):  # parts of placeholders
        assert shown.split() == said.split()


def test_signs_of_the_syntax_are_quoted() -> None:
    written = translated("a.ftl", "a = Hello you\n", by=lambda _: "[one\n.two *")
    assert written == 'a = { "[" }one\n    { "." }two *\n'
    assert translated("a.ftl", "a = Hello you\n", by=lambda _: "*") == 'a = { "*" }\n'


def test_existing_translations() -> None:
    document = opened("a.ftl", CONTENT)
    known = "-brand = Firefox\ndone = { $n ->\n   *[other] Fertig\n  }\n"
    assert document.keep_translations(opened("a.ftl", known))
    assert len(document.texts) == 8
    written = document.written(["x"] * 8).decode()
    assert "-brand = Firefox\n" in written
    assert "done = { $n ->\n   *[other] Fertig\n  }\n" in written


def test_one_argument_chosen_by_in_two_ways_stays() -> None:
    choice = "{{ {} ->\n    [one] b c\n   *[other] d e\n  }}"
    content = f"a = {choice.format('$n')} {choice.format('NUMBER($n, x: 1)')}\n"
    assert texts("a.ftl", content) == []
    assert translated("a.ftl", content) == content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a = b c\nd\n", "not Fluent at line 2: Expected token"),
        ("a = { $n ->\n  [one] b\n}\n", "line 3: Expected one of the variants to be marked as"),
        ("a = " + "{" * 5000, "nested too deeply"),
    ],
)
def test_damaged_files(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.ftl", content)
