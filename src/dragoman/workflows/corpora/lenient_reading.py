"""Reading pairs of other people's corpora: lines that cannot be read are counted and left out."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.wording import named
from dragoman.text.formats.interface import instead
from dragoman.text.formats.plain import aligned
from dragoman.text.formats.sgm import Sgm
from dragoman.text.formats.tmx import Tmx
from dragoman.text.formats.wmt_xml import WmtXml
from dragoman.text.language_codes import common_language
from dragoman.text.lines import open_bytes

TextPair = tuple[str, str]
"""A source and its translation, which may have line breaks."""

Flaws = Counter[str]
"""How many pairs could not be read, by reason."""

NOT_UTF8, NO_COLUMNS, NOT_JSON = "not UTF-8", "without both columns", "not JSON"
_LONGEST_LINE = 2**26  # bytes
_BROKEN = "\ud800"  # no text that UTF-8 can hold
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def lenient_lines(path: Path) -> Iterator[str]:
    """The lines of a file, decompressed; half of a surrogate pair stands for one that is broken.

    Raises:
        DataError: the file is missing or damaged, or a line is too long to be text.
    """
    with open_bytes(path) as stream:
        for number, raw in enumerate(iter(partial(stream.readline, _LONGEST_LINE + 1), b""), 1):
            if len(raw) > _LONGEST_LINE:
                raise DataError(
                    f"{path}:{number}: over {_LONGEST_LINE:,} bytes; not a line of text"
                )
            text = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
            try:
                yield text.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                yield _BROKEN


def plain_pairs(files: Sequence[Path], flaws: Flaws) -> Iterator[TextPair]:
    """Pairs of lines of two files.

    Raises:
        DataError: they differ in length.
    """
    for pair in aligned(files, lenient_lines, "line"):
        if _BROKEN in {pair.source, pair.target}:
            flaws[NOT_UTF8] += 1
        else:
            yield pair.source, pair.target


def table_pairs(
    files: Sequence[Path], columns: Sequence[int], flaws: Flaws, *, commas: bool = False
) -> Iterator[TextPair]:
    """Pairs of two columns, which are numbered from 0, of tables without a header.

    Args:
        files: the tables, one after another.
        columns: of the source and the target.
        commas: whether commas separate cells and quotation marks may surround them, below a
            header.
    """
    source, target = columns
    for path in files:
        for cells in _quoted_rows(path, flaws) if commas else _rows(path, flaws):
            if len(cells) <= max(source, target):
                flaws[NO_COLUMNS] += 1
            else:
                yield cells[source], cells[target]


def named_pairs(path: Path, sides: TextPair, flaws: Flaws, *, commas: bool) -> Iterator[TextPair]:
    """Pairs of two columns of a table with a header.

    Raises:
        DataError: a column is missing.
    """
    header = first_row(path, commas=commas)
    for side in sides:
        if side not in header:
            raise DataError(f"{path}: no column {side!r}{instead(side, header, 'columns')}")
    places = [header.index(side) for side in sides]
    pairs = table_pairs([path], places, flaws, commas=commas)
    if not commas:
        next(pairs, None)  # the header
    yield from pairs


def first_row(path: Path, *, commas: bool) -> list[str]:
    """The header of a table."""
    line = next(iter(lenient_lines(path)), "")
    return next(csv.reader([line]), []) if commas else line.split("\t")


def json_pairs(path: Path, sides: TextPair, flaws: Flaws) -> Iterator[TextPair]:
    """Pairs of two keys, such as ``translation.en``, of the objects on the lines of a file."""
    for record in json_records(path, flaws):
        texts = [value_of(record, side) for side in sides]
        if isinstance(texts[0], str) and isinstance(texts[1], str):
            yield texts[0], texts[1]
        else:
            flaws[NO_COLUMNS] += 1


def json_records(path: Path, flaws: Flaws) -> Iterator[dict[str, Any]]:
    """The objects on the lines of a file."""
    for line in lenient_lines(path):
        if line == _BROKEN:
            flaws[NOT_UTF8] += 1
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            yield record
        else:
            flaws[NOT_JSON] += 1


def value_of(record: dict[str, Any], key: str) -> Any:
    """The value of a key such as ``translation.en``; None without it."""
    value: Any = record
    for part in [key] if key in record else key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def memory_pairs(files: Sequence[Path], languages: TextPair) -> Iterator[TextPair]:
    """Pairs of translation memories, whose codes of languages may be others than ours."""
    for path in files:
        there = Tmx().offered_sides(path)
        sides = (_code(path, languages[0], there), _code(path, languages[1], there))
        yield from ((pair.source, pair.target) for pair in Tmx().read([path], sides))


def _code(path: Path, language: str, there: Sequence[str]) -> str:
    """The code that a file has for a language."""
    alike = [one for one in there if common_language(one) == common_language(language)]
    exact = [one for one in alike if one.lower() == language.lower()]
    if not alike:
        raise DataError(
            f"{path}: no text in {language!r}; languages there: {named(there) or 'none'}"
        )
    return (exact or alike)[0]


def _rows(path: Path, flaws: Flaws) -> Iterator[list[str]]:
    for line in lenient_lines(path):
        if line == _BROKEN:
            flaws[NOT_UTF8] += 1
        else:
            yield line.split("\t")


def _quoted_rows(path: Path, flaws: Flaws) -> Iterator[list[str]]:
    """The rows below the header of a table with commas, whose cells may have line breaks."""

    def readable(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            if line == _BROKEN:
                flaws[NOT_UTF8] += 1
            else:
                yield f"{line}\n"

    rows = csv.reader(readable(lenient_lines(path)))
    try:
        next(rows, None)
        yield from rows
    except csv.Error as error:
        raise DataError(f"{path}: not a table with commas ({error})") from error


def _set_pairs(files: Sequence[Path], form: Sgm | WmtXml) -> Iterator[TextPair]:
    return ((pair.source, pair.target) for pair in form.read(files, ("", "")))


Reader = Callable[[Sequence[Path], TextPair, Sequence[int], Flaws], Iterator[TextPair]]
"""Reads files of one kind, given the languages and the numbers of the columns."""

READERS: dict[str, Reader] = {
    "txt": lambda files, _, __, flaws: plain_pairs(files, flaws),
    "tsv": lambda files, _, columns, flaws: table_pairs(files, columns, flaws),
    "csvwithheader": lambda files, _, columns, flaws: table_pairs(
        files, columns, flaws, commas=True
    ),
    "tmx": lambda files, languages, _, __: memory_pairs(files, languages),
    "sgm": lambda files, _, __, ___: _set_pairs(files, Sgm()),
    "wmt21xml": lambda files, _, __, ___: _set_pairs(files, WmtXml()),
}
"""By the names that mtdata gives to kinds of files."""
