"""YAML that would take a reader for ever, or give it what no configuration holds."""

from __future__ import annotations

import pytest
import yaml

from dragoman.core.strict_yaml import MAX_DEPTH, MAX_VALUES, load_yaml


def refused(text: str) -> tuple[str, int]:
    """The problem that is told, and its line from 1."""
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        load_yaml(text)
    assert caught.value.problem is not None
    assert caught.value.problem_mark is not None
    return caught.value.problem, caught.value.problem_mark.line + 1


def bomb(line: str, times: int) -> str:
    """Lines that each name the one before ten times."""
    lines = ["a0: &a0 {k: 1}"]
    for number in range(1, times):
        aliases = ", ".join([f"*a{number - 1}"] * 10)
        lines.append(line.format(number=number, aliases=aliases))
    return "\n".join(lines)


@pytest.mark.parametrize(
    "line", ["a{number}: &a{number} [{aliases}]", "a{number}: &a{number} {{<<: [{aliases}]}}"]
)
def test_aliases_that_multiply(line: str) -> None:
    problem, where = refused(bomb(line, 30))
    assert problem == f"more than {MAX_VALUES:,} values, with aliases written out"
    assert where < 10


def test_aliases_and_merges_in_measure() -> None:
    assert load_yaml("a: &a {k: 1}\nb: [*a, *a]\nc: {<<: *a, l: 2}") == {
        "a": {"k": 1},
        "b": [{"k": 1}, {"k": 1}],
        "c": {"k": 1, "l": 2},
    }


def test_what_is_merged_elsewhere_first_may_itself_override_what_it_merges() -> None:
    text = "b: &b {x: 0}\nouter:\n  a: &a {<<: *b, x: 1}\nc: {<<: *a, y: 2}"
    assert load_yaml(text) == {"b": {"x": 0}, "outer": {"a": {"x": 1}}, "c": {"x": 1, "y": 2}}


def test_a_key_twice_in_what_is_merged_elsewhere() -> None:
    text = "outer:\n  a: &a {x: 0, x: 1}\nc: {<<: *a, y: 2}"
    assert refused(text) == ("the key 'x' occurs twice", 2)


@pytest.mark.parametrize("text", ["a: 1\nb: &b [*b]", "a: 1\nb: &b {c: [{d: *b}]}"])
def test_an_alias_of_what_it_stands_in(text: str) -> None:
    assert refused(text) == ("an alias is inside what it refers to", 2)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a: " + "[" * 20_000, 1),
        ("- " * 20_000, 1),
        ("a: " + "{a: " * 20_000, 1),
        ("\n".join(" " * depth + "a:" for depth in range(500)), MAX_DEPTH),
    ],
)
def test_nesting_without_end(text: str, where: int) -> None:
    assert refused(text) == (f"nested more than {MAX_DEPTH} levels deep", where)


def test_nesting_in_measure() -> None:
    depth = MAX_DEPTH - 1
    value = load_yaml("[" * depth + "]" * depth)
    for _ in range(depth):
        (value,) = value or [None]
    assert value is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("9" * 10_000, ""),  # says Python, or that it does not fit: a matter of its release
        ("0x" + "f" * 10_000, "a whole number that does not fit into 64 bits"),
        (str(2**63), "a whole number that does not fit into 64 bits"),
        (":".join(["59"] * 300), "a whole number that does not fit into 64 bits"),
        ("2001-99-99", "'2001-99-99' cannot be read as timestamp"),
        ("!!bool 3", "'3' cannot be read as bool"),
        ("!!float x", "'x' cannot be read as float"),
        ("!!timestamp x", "'x' cannot be read as timestamp"),
        ('"\\ud800"', "U+D800 is not a character of text"),
        ('"a\\0"', "U+0000 is not a character of text"),
    ],
)
def test_values_that_are_none(value: str, problem: str) -> None:
    found, where = refused(f"a: 1\nb: {value}\n")
    assert problem in found
    assert where == 2
    assert len(found) < 100


def test_the_largest_whole_numbers() -> None:
    assert load_yaml(f"[{2**63 - 1}, {-(2**63)}]") == [2**63 - 1, -(2**63)]
