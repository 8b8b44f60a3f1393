"""The table of notations of placeholders: each example is one, and prose has none."""

from __future__ import annotations

from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.percent_notations import FAMILIES, Family, Notation
from dragoman.text.placeholder_notations import NOTATIONS, notation_pattern
from dragoman.text.terms.terminology import Terminology

PAGE = Path(__file__).parents[2] / "docs" / "placeholders.md"
ROWS = [(row, example) for row in NOTATIONS for example in row.examples]
GUESSED = [example for row, example in ROWS if row.scope != "declared"]


def spans(text: str, *, is_string: bool = True, declared: tuple[Family, ...] = ()) -> list[str]:
    pattern = notation_pattern(is_string=is_string, declared=frozenset(declared))
    return [one[0] for one in regex.finditer(pattern, text, regex.VERSION1 | regex.VERBOSE)]


@pytest.mark.parametrize(("row", "example"), ROWS, ids=[example for _, example in ROWS])
def test_examples_are_found_whole(row: Notation, example: str) -> None:
    declared = (row.family,) if row.scope == "declared" else ()
    for form in ("a {} b", "{}", "({}).", "에게 {}의 것"):
        text = form.replace("{}", example)
        assert spans(text, declared=declared) == [example], text
        if row.scope == "text":
            assert spans(text, is_string=False) == [example], text


@given(st.lists(st.sampled_from(GUESSED), min_size=1, max_size=5))
def test_neighbours_are_apart(examples: list[str]) -> None:
    assert spans(" - ".join(examples)) == examples


@pytest.mark.parametrize(
    "text",
    """50 % off|a 50% discount|50%OFF|100% sure|100%sure|100 %sure|20%ige Säure|5%p|50%+ more
    le % d'erreur|the % a person pays|un 50 % de réduction|un 50 % a 60 %|1%-2%|10%, 20 % in
    10:30|12:30:45|note: name|Re: this|a:b|smile :D|http://a:80/x|user@example.org|meet @ home
    Hello!name|Oh! no|x != y|# heading|#1|C#|[sic]|[1]|(a) [optional] b|_a_|a__b__c|{see below}
    costs $ 5|Terms \\| Privacy|a < b & c|5\u00a0% de|100 % des gens|50%-ige|Q&A: yes/no""".replace(
        "\n    ", "|"
    ).split("|"),
)
def test_prose_has_none(text: str) -> None:
    assert spans(text) == []
    assert not Terminology(protect=["placeholders"]).constraints(text)


@pytest.mark.parametrize(
    ("family", "text", "expected"),
    [
        ("printf", "%n and %p, % d", ["%n", "%p", "% d"]),
        ("printf", "100% sure, %d%% of it", ["%d", "%%"]),
        ("printf", "%name%", ["%n"]),
        ("python", "%(n) d of %r", ["%(n) d", "%r"]),
        ("python", "100% sure of %s", ["%s"]),
        ("java", "%-5b %n", ["%-5b", "%n"]),
        ("php", "%'010d of %b", ["%'010d", "%b"]),
        ("qt", "%Ln of %1", ["%Ln", "%1"]),
        ("lisp", "~a of ~D~%", ["~a", "~D", "~%"]),
        ("laravel", "v:version", [":version"]),
        ("squares", "[name]", ["[name]"]),
    ],
)
def test_what_is_declared(family: Family, text: str, expected: list[str]) -> None:
    assert [one for one in spans(text, declared=(family,)) if one != "%%" or "%%" in expected] == (
        expected
    )


def test_a_declared_family_of_percent_rules_out_guesses_at_others() -> None:
    assert spans("%1, %Y, :name", declared=("braces",)) == ["%1", "%Y", ":name"]
    assert spans("%1 %Y :name", declared=("printf",)) == [":name"]


def test_a_named_conversion_behind_a_number_is_no_percentage() -> None:
    text = "0 %(cnt)s of 5%(n)d, 20 %(ca) and 3 %(sure)ly"
    assert spans(text, is_string=False) == ["%(cnt)s", "%(n)d"]


def test_conversions_of_several_families_do_not_join() -> None:
    assert spans("%dx%d and %s%s, %d%%") == ["%d", "%d", "%s", "%s", "%d", "%%"]
    assert spans("%count% of %total%%s") == ["%count%", "%total", "%%"]


def test_the_page_for_users_has_each_example() -> None:
    page = PAGE.read_text(encoding="utf-8").replace("\\|", "|")
    assert [example for _, example in ROWS if example not in page] == []


def test_every_row_has_its_source_and_every_family_rows() -> None:
    assert all(row.source and row.examples for row in NOTATIONS)
    assert {row.family for row in NOTATIONS} == set(FAMILIES)
