"""What translations must contain, and what they may not invent."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalization import normalize
from dragoman.text.terms.line_demands import USUAL, LineDemands
from dragoman.text.terms.number_forms import is_small, number_forms
from dragoman.text.terms.terminology import LexicalConstraint, ProtectedKind, Terminology

TERMS = Terminology(protect=USUAL)
WORDS = ["alpha", "beta", "ganz", "Haus", "50 %", "&", "a < b", "[sic]", "10:30", "x/y"]
CODES = [
    "{name}",
    "%s",
    "%(key)r",
    "$HOME",
    "<b>",
    "</b>",
    "&nbsp;",
    "https://a.example/b",
    "a@b.de",
]


def demands(source: str, *, protects: frozenset[ProtectedKind] = TERMS.protects) -> LineDemands:
    return LineDemands(TERMS.constraints(source), normalize(source), protects)


def missing(source: str, translation: str) -> list[str]:
    return [one.name for one in demands(source).missing(translation)]


@pytest.mark.parametrize(
    ("source", "translation", "lost"),
    [
        ("at least 8 characters", "mindestens 1 Zeichen", ["8"]),
        ("1 day", "ein Tag", []),
        ("12 days", "zwölf Tage", []),
        ("13 days", "dreizehn Tage", ["13"]),
        ("1 day, 2 nights", "ein Tag, 2 Nächte", []),
        ("1 day, 2 nights", "ein Tag, 3 Nächte", ["1", "2"]),
        ("1,234.5 items", "1.234,5 Elemente", []),
        ("1,234.5 items", "1.234,6 Elemente", ["1,234.5"]),
        ("from 09:00 to 5:30 pm", "9:00–17:30", []),
        ("at 5.30pm", "um 17.30 Uhr", []),
        ("175,000 men in 2020", "２０２０年に17万5千人", []),
        ("{n} of 20", "{n} von 2", ["20"]),
        ("{n} of 20", "{m} von 20", ["{n}"]),
    ],
)
def test_what_is_lost(source: str, translation: str, lost: list[str]) -> None:
    assert missing(source, translation) == lost


@pytest.mark.parametrize(
    ("source", "translation", "invented"),
    [
        ("Hello", "Hallo {name}", ("{name}",)),
        ("Hello {name}", "{name}, hallo {name}", ("{name}",)),
        ("{a} and {a}", "{a} und {a}", ()),
        ("Hello", "Hallo {nam", ("{",)),
        ("%(key)r is", "%(key ist", ("%(",)),
        ("<b>bold</b>", "<b>fett<b>", ("<b>",)),
        ("a < b", "a < b > c", (">",)),
        ("a < b", "b < a", ()),
        ("50 % off", "50 % Rabatt", ()),
        ("off", "100 % aus", ()),
        ("off", "aus %d", ("%d",)),
        ("Tom and Ann", "Tom & Ann", ()),
        ("Tom and Ann", "Tom &amp; Ann", ("&amp;",)),
        ("see :term:`set`", "siehe :term:`Menge <a set>`", ()),
        ("our page", "unsere Seite https://a.example", ("https://a.example",)),
        ("a break", "ein<br /> Umbruch", ("<br />",)),
        ("two rooms", "2 Zimmer", ()),
    ],
)
def test_what_is_invented(source: str, translation: str, invented: tuple[str, ...]) -> None:
    assert demands(source).invented(translation) == invented


def test_a_term_or_a_beginning_may_have_any_sign() -> None:
    term = LexicalConstraint(("Haus <b>", "{x}"))
    found = LineDemands((term,), "house", TERMS.protects)
    assert found.invented("das Haus <b>") == () == found.invented("{x}")
    assert LineDemands((), "house {y}", TERMS.protects).invented("{y} Haus") == ()


def test_only_the_chosen_sets_are_looked_for() -> None:
    tags = demands("a", protects=frozenset({"tags", "numbers"}))
    assert tags.invented("{x} <b>") == ("<b>",)
    assert not demands("a", protects=frozenset({"numbers"}))
    assert demands("a", protects=frozenset({"numbers"})).invented("{x}") == ()


@given(st.lists(st.sampled_from(WORDS + CODES), min_size=1, max_size=8))
def test_the_codes_of_a_source_in_any_order_are_neither_lost_nor_invented(
    parts: list[str],
) -> None:
    source = " ".join(parts)
    assert missing(source, source) == []
    assert demands(source).invented(" ".join(reversed(parts))) == ()
    codes = [one for one in parts if one in CODES]
    for code in codes:
        less = " ".join(one for place, one in enumerate(parts) if place != parts.index(code))
        assert code in missing(source, less)
        assert code in demands(less).invented(source)


@given(st.integers(0, 10**7))
def test_a_number_is_one_of_its_forms_with_and_without_separators(number: int) -> None:
    forms = number_forms(f"{number:,}")
    assert f"{number:,}" in forms and str(number) in forms
    assert all(re.sub(r"\D", "", form.translate(PLAIN)) == str(number) for form in forms)
    assert is_small(str(number)) == (number <= 12)


PLAIN = str.maketrans("０１２３４５６７８９", "0123456789")


@given(st.text(max_size=30) | st.text("{}%$<>[]&#?/:@.;,w5²½٣a ", max_size=12))
def test_texts_without_the_signs_of_a_set_have_nothing_of_it(text: str) -> None:
    """The signs are only for speed: without them, all expressions find the same."""
    for kind in USUAL:
        terms = Terminology(protect=[kind])
        fast = terms.protected(text)
        (pattern,) = terms._patterns
        pattern._signs = None
        assert terms.protected(text) == fast
