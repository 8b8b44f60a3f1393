"""Tables with a header and cells separated by tabs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.formats.interface import AddPair, Format, Sides, check_names, instead, unwritable
from dragoman.text.lines import line_problem, read_lines, write_text
from dragoman.text.pairs import Pair


class Tsv(Format):
    """A table with a header and without quoting: a quotation mark is an ordinary character."""

    name = "tsv"
    suffixes = (".tsv", ".tab")
    sides = "columns"

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs from two columns.  A blank line is a pair of empty strings.

        Raises:
            DataError: a column is missing, a row and the header differ in their number of cells, or
                the header has a carriage return.
        """
        (path,) = files
        lines = read_lines(path)
        header = _header(path, lines)
        places = [_column(header, name, path) for name in sides]
        number = 1
        for number, line in enumerate(lines, 2):
            cells = line.split("\t")
            if len(cells) == len(header):
                yield Pair(cells[places[0]], cells[places[1]], number)
            elif line:
                raise DataError(
                    f"{path}:{number}: {len(cells)} cells, but the header has {len(header)}; "
                    "correct the line (cells are separated by tabs and cannot be quoted)"
                )
            else:
                yield Pair("", "", number)
        if number == 1:
            raise DataError(f"{path}: only a header and no rows; give a file with pairs")

    @contextmanager
    def write(self, files: Sequence[Path], sides: Sides) -> Iterator[AddPair]:
        """Writes a table of two columns.

        Raises:
            ConfigError: the names cannot be those of two columns.
            DataError: in the block: a text has a tab or a line break.
        """
        (path,) = files
        check_names(path, sides)
        for name in sides:
            if problem := _problem(name, first=True):
                raise ConfigError(f"{path}: no column can be called {name!r}, which has {problem}")
        with write_text(path) as stream:
            stream.write("\t".join(sides) + "\n")

            def add(pair: Pair) -> None:
                for side, cell in (("source", pair.source), ("target", pair.target)):
                    if problem := _problem(cell):
                        raise unwritable(path, pair, side, problem)
                stream.write(f"{pair.source}\t{pair.target}\n")

            yield add

    def offered_sides(self, path: Path) -> list[str]:
        """The columns."""
        return _header(path, read_lines(path))


def _header(path: Path, lines: Iterator[str]) -> list[str]:
    """The columns.

    Raises:
        DataError: there is no line, or the line is a whole file with CR as its only line end.
    """
    first = next(lines)
    if "\r" in first:
        raise DataError(
            f"{path}:1: a carriage return within the header; if no LF ends the lines of this file, "
            "convert it: tr '\\r' '\\n'"
        )
    return first.split("\t")


def _problem(cell: str, *, first: bool = False) -> str | None:
    return "a tab" if "\t" in cell else line_problem(cell, first=first)


def _column(header: list[str], name: str, path: Path) -> int:
    if header.count(name) > 1:
        raise DataError(f"{path}:1: the header has column {name!r} twice; rename one of them")
    if name not in header:
        raise DataError(f"{path}:1: no column {name!r}{instead(name, header, 'columns')}")
    return header.index(name)
