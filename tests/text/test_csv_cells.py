"""Tables as spreadsheets export them: cells with their places, and what is no table."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.text.csv_cells import read_table, written_cell

_CELLS = st.text(st.sampled_from("ab,;\t\"' \n"), max_size=5)


@given(st.lists(st.lists(_CELLS, min_size=2, max_size=2), min_size=1, max_size=4))
def test_cells_are_those_that_another_reader_finds(rows: list[list[str]]) -> None:
    lines = [",".join(written_cell(cell, ",", is_quoted=True) for cell in row) for row in rows]
    text = "en,de\n" + "\n".join(lines) + "\n"
    _, *expected = csv.reader(io.StringIO(text, newline=""))
    table = read_table(text)
    assert table.header == ["en", "de"]
    assert [[cell.text for cell in row.cells] for row in table.rows] == expected
    for row in table.rows:
        for cell in row.cells:
            assert cell.text.replace('"', '""') in text[cell.start : cell.stop]


@pytest.mark.parametrize(
    ("text", "delimiter"), [("en;de\na;b", ";"), ("en\tde\na\tb", "\t"), ('"a,b",c\n"d",e', ",")]
)
def test_the_first_line_shows_what_separates_cells(text: str, delimiter: str) -> None:
    assert read_table(text).delimiter == delimiter


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the table is empty"),
        ("en,en\na,b", "line 1: two columns are called 'en'"),
        ("en,de\na,b\nc", "line 3: 1 cells, but the header has 2"),
        ('en,de\n"a,b', "line 2: a cell begins with a quotation mark and has no end"),
        ('en,de\n"a"b,c', "line 2: text behind the quotation mark"),
    ],
)
def test_what_is_no_table(text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_table(text)


def test_quotation_marks_where_a_cell_needs_them() -> None:
    assert written_cell("a b", ",") == "a b"
    assert written_cell("a,b", ",") == '"a,b"'
    assert written_cell("a,b", ";") == "a,b"
    assert written_cell(' "a"', ",") == '" ""a"""'
    assert written_cell("a", ",", is_quoted=True) == '"a"'
