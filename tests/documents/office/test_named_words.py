"""Words of workbooks that formulas and the like name."""

from __future__ import annotations

import html

from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.documents.office.named_words import folded, words_named, words_named_in_open_document

_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])).filter(str.strip)


@given(_WORDS)
@example('say "hello"')
@example("<>")
def test_a_word_is_found_however_it_is_written_in_a_formula(words: str) -> None:
    formula = '=IF(A1="{}",1)'.format(words.replace('"', '""'))
    assert folded(words) in words_named(f"<x:f>{html.escape(formula)}</x:f>")
    attribute = f"<a table:formula='of:{html.escape(formula)}'/>"
    assert folded(words) in words_named_in_open_document(attribute)


def test_spaces_case_and_escapes_make_no_difference() -> None:
    assert folded(" Unit_x000a_PRICE ") == folded("unit  price")


def test_numbers_and_places_name_no_words() -> None:
    assert list(words_named("<f>SUM(A1:B2)</f><v>one</v><t>two</t><f/><c>three</c>")) == []
