"""Tables with a column for each language."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from string_files import opened, texts, translated

from dragoman.core.errors import DataError
from dragoman.text.csv_cells import read_table, written_cell
from soak.fuzzing.target import seed

CONTENT = seed("texts.csv").content.decode()


def test_empty_cells_are_filled() -> None:
    assert texts("a.csv", CONTENT) == ["Open it", 'Close "it"; now', "%s days", "left"]
    expected = CONTENT
    for before, after in (
        ("Open it;;", "Open it;OPEN IT;"),
        ('now";;', 'now";"CLOSE ""IT""; NOW";'),
        ('left";""', 'left";"%s DAYS\nLEFT"'),
    ):
        expected = expected.replace(before, after)
    assert translated("a.csv", CONTENT) == expected
    assert texts("a.csv", expected) == []


@pytest.mark.parametrize(
    ("content", "target", "expected"),
    [
        ("en,fr\r\nA day,\r\n", "fr", "en,fr\r\nA day,A DAY\r\n"),
        ("en\tfr\tde\nA day\t\tx", "fr", "en\tfr\tde\nA day\tA DAY\tx"),
        ('"source","target"\n"A day",', "fr", '"source","target"\n"A day","A DAY"'),
        ("\ufeffen,pt-BR\n\nA day,\n", "pt", "\ufeffen,pt-BR\n\nA day,A DAY\n"),
    ],
)
def test_layouts(content: str, target: str, expected: str) -> None:
    assert translated("a.csv", content, target, "en") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the table is empty"),
        ("en,fr\na,b", "no column for 'de'; call an empty one so; columns there: en, fr"),
        ("en,fr,de\na,b,c", "several columns may be the source"),
        ("a,de\nb,c", "no column is the source"),
        ("en,de\na,b\nc", "line 3: 1 cells|line 3"),
        ('en,de\n"a\nb",c\nd,e,f', "line 4: 3 cells, but the header has 2"),
        ('en,de\n"a,b', "line 2: a cell begins with a quotation mark and has no end"),
        ('en,de\n"a"b,c', "line 2: text behind the quotation mark"),
        ("en,de,de\na,b,c", "line 1: two columns are called 'de'"),
    ],
)
def test_tables_that_are_refused(content: str, message: str) -> None:
    if content.endswith("\nc"):
        content += ",d,e"
    with pytest.raises(DataError, match=message):
        opened("a.csv", content)


CELL = st.text(st.sampled_from('ab ,;"\n\t'), max_size=6)


@given(st.lists(st.tuples(CELL, CELL), max_size=4), st.sampled_from(",;\t"))
def test_cells_are_those_of_another_reader(pairs: list[tuple[str, str]], delimiter: str) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows([("en", "de"), *pairs])
    table = read_table(stream.getvalue())
    assert table.delimiter == delimiter
    assert [tuple(cell.text for cell in row.cells) for row in table.rows] == pairs
    lines = ["en" + delimiter + "de"]
    lines += [delimiter.join(written_cell(cell, delimiter) for cell in pair) for pair in pairs]
    rows = list(csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter=delimiter))
    assert [tuple(row) for row in rows] == [("en", "de"), *pairs]
