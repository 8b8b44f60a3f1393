"""Glossary entries in DeepL's format: two columns, separated by tabs or commas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from dragoman.core.wording import shown
from dragoman.server.deepl.languages import same_language
from dragoman.server.deepl.parameters import invalid
from dragoman.server.dependencies import glossary_of
from dragoman.translation.service.interface import RefusedError

FORMATS = ("tsv", "csv")

Entry = tuple[str, str]

_LONGEST = 1024  # bytes of a term
_CONTROLS = frozenset(map(chr, [*range(32), *range(127, 160), 0x2028, 0x2029]))


def read_entries(text: str, kind: str, source: str, target: str) -> tuple[Entry, ...]:
    """The entries of a dictionary, checked.

    Empty lines do not count.

    Raises:
        RefusedError: ``invalid``, if there are no entries, or one is broken or occurs twice.
    """
    rows = _csv_rows(text, source, target) if kind == "csv" else _tsv_rows(text)
    entries: dict[str, str] = {}
    for number, term, translation in rows:
        for value in (term, translation):
            _check(number, value)
        if term in entries:
            raise _broken(number, f"the term {shown(term)} occurs twice")
        entries[term] = translation
    if not entries:
        raise invalid("Invalid glossary entries provided: there are none.")
    glossary_of(entries.items())
    return tuple(entries.items())


def tsv(entries: Iterable[Entry]) -> str:
    """Entries, separated by tabs."""
    return "\n".join(f"{term}\t{translation}" for term, translation in entries)


def _tsv_rows(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            raise _broken(number, f"it has {len(columns)} columns; separate two by one tab")
        yield number, columns[0].strip(), columns[1].strip()


def _csv_rows(text: str, source: str, target: str) -> Iterator[tuple[int, str, str]]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for columns in rows:
            if not any(column.strip() for column in columns):
                continue
            number = rows.line_num
            if len(columns) not in (2, 4):
                raise _broken(number, f"it has {len(columns)} columns; give two, or four")
            languages = columns[2:]
            if languages and not _fit(languages, source, target):
                raise _broken(
                    number,
                    f"its languages are {shown(', '.join(languages))}, but those of the "
                    f"dictionary {source}, {target}",
                )
            yield number, columns[0].strip(), columns[1].strip()
    except csv.Error as error:
        raise _broken(rows.line_num, str(error)) from None


def _fit(languages: list[str], source: str, target: str) -> bool:
    return all(map(same_language, map(str.strip, languages), (source, target)))


def _check(number: int, value: str) -> None:
    if not value:
        raise _broken(number, "a side is empty")
    if len(value.encode()) > _LONGEST:
        raise _broken(number, f"a side has more than {_LONGEST} bytes")
    if not _CONTROLS.isdisjoint(value):
        raise _broken(number, f"{shown(value)} has a control character")


def _broken(number: int, problem: str) -> RefusedError:
    return invalid(f"Invalid glossary entries provided: line {number}: {problem}.")
