"""Tables with a header and cells that may be in quotation marks (``.csv``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.text.character_encoding import decode
from dragoman.text.csv_cells import Table, read_table
from dragoman.text.formats.interface import Format, Sides, instead
from dragoman.text.lines import open_bytes
from dragoman.text.pairs import Pair

_LARGEST = 2**28
"""Maximum bytes of a file, which is held in memory."""


class Csv(Format):
    """A table as spreadsheets export it, separated by commas, semicolons or tabs."""

    name = "csv"
    suffixes = (".csv",)
    sides = "columns"

    @override
    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        (path,) = files
        table = _table(path)
        for side in sides:
            if side not in table.header:
                known = instead(side, table.header, "columns")
                raise DataError(f"{path}:1: no column {side!r}{known}")
        source, target = map(table.header.index, sides)
        if not table.rows:
            raise DataError(f"{path}: only a header and no rows; give a file with pairs")
        for row in table.rows:
            yield Pair(row.cells[source].text, row.cells[target].text, row.line)

    @override
    def offered_sides(self, path: Path) -> list[str]:
        return _table(path).header


def _table(path: Path) -> Table:
    with open_bytes(path) as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DataError(f"{path}: over {_LARGEST:,} bytes; divide the file")
    try:
        return read_table(decode(content, is_page=False)[0])
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
