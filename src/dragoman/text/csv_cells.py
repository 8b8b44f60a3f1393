"""Tables whose cells may be in quotation marks (RFC 4180), with the places of the cells."""

from __future__ import annotations

import re
from typing import NamedTuple

from dragoman.core.errors import DataError

_DELIMITERS = ",;\t"
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_BARE = {sign: re.compile(rf"[^{sign}\r\n]*") for sign in _DELIMITERS}
_LINE_END = re.compile(r"\r\n|\r|\n")


class Cell(NamedTuple):
    """A cell of a table."""

    text: str
    start: int
    """In characters of the file, with the quotation mark."""
    stop: int


class TableRow(NamedTuple):
    """A row of a table."""

    line: int
    """The line of the file in which it begins."""
    cells: list[Cell]


class Table(NamedTuple):
    """A table with a header."""

    delimiter: str
    header: list[str]
    rows: list[TableRow]
    """Those with text, without the header."""


def read_table(text: str) -> Table:
    """The rows of a table, whose cells are separated as those of its first line.

    Raises:
        DataError: a cell in quotation marks does not end at one, a row and the header differ in
            their number of cells, or two columns have one name; with the line.
    """
    delimiter = _delimiter(text)
    rows: list[TableRow] = []
    place, line = 0, 1
    while place < len(text):
        row, stop = _row(text, place, line, delimiter)
        if any(cell.text for cell in row.cells) or len(row.cells) > 1:
            rows.append(row)
        line += len(_LINE_END.findall(text, place, stop))
        place = stop
    if not rows:
        raise DataError("the table is empty; give it a header with the names of its columns")
    first, *others = rows
    header = [cell.text.strip() for cell in first.cells]
    for name in header:
        if name and header.count(name) > 1:
            raise DataError(f"line {first.line}: two columns are called {name!r}; rename one")
    for row in others:
        if len(row.cells) != len(header):
            raise DataError(
                f"line {row.line}: {len(row.cells)} cells, but the header has {len(header)}; "
                "correct the line, or put a text with separators in quotation marks"
            )
    return Table(delimiter, header, others)


def written_cell(text: str, delimiter: str, *, is_quoted: bool = False) -> str:
    """A cell as it is written, in quotation marks if it needs them or the table has them."""
    needs = any(sign in text for sign in (delimiter, '"', "\n", "\r")) or text != text.strip()
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if needs or is_quoted else text


def _delimiter(text: str) -> str:
    """The separator that the first line has most often outside of quotation marks."""
    first = _LINE_END.split(_QUOTED.sub("", text[:100_000].lstrip()), maxsplit=1)[0]
    return max(_DELIMITERS, key=first.count)


def _row(text: str, place: int, line: int, delimiter: str) -> tuple[TableRow, int]:
    """The row that begins at a place, and where the next one begins."""
    cells: list[Cell] = []
    while True:
        quoted = _QUOTED.match(text, place)
        if quoted is not None:
            cells.append(Cell(quoted[1].replace('""', '"'), place, quoted.end()))
        elif text.startswith('"', place):
            raise DataError(f"line {line}: a cell begins with a quotation mark and has no end")
        else:
            bare = _BARE[delimiter].match(text, place)
            assert bare is not None
            cells.append(Cell(bare[0], place, bare.end()))
        place = cells[-1].stop
        if text.startswith(delimiter, place):
            place += 1
            continue
        end = _LINE_END.match(text, place)
        if end is None and place < len(text):
            raise DataError(
                f"line {line}: text behind the quotation mark that ends a cell; write one within a "
                "cell twice"
            )
        return TableRow(line, cells), len(text) if end is None else end.end()
