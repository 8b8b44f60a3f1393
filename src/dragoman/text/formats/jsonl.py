"""JSON objects, one per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import AddPair, Format, Sides, check_names, instead
from dragoman.text.lines import read_lines, write_text
from dragoman.text.pairs import Pair

_FIRST_RECORDS = 100  # from which the keys are determined
_DEEPEST_KEY = 3


class Jsonl(Format):
    """A JSON object on each line, whose strings are the texts."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson")
    sides = "keys"

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs from two keys.

        ``a.b`` reads ``b`` inside ``a``.  ``null`` and a blank line are read as empty strings.

        Raises:
            DataError: a line is not a JSON object, lacks a key, or has a value other than a string.
        """
        (path,) = files
        source, target = sides
        for number, line in enumerate(read_lines(path), 1):
            place = f"{path}:{number}"
            if not line.strip():
                yield Pair("", "", number)
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                raise DataError(f"{place}: not valid JSON ({reason}); correct the line") from error
            if not isinstance(record, dict):
                raise DataError(f"{place}: expected a JSON object, such as {{{source!r}: ...}}")
            yield Pair(_value(record, source, place), _value(record, target, place), number)

    @contextmanager
    def write(self, files: Sequence[Path], sides: Sides) -> Iterator[AddPair]:
        """Writes objects of two keys with any text. A dot in a key is an ordinary character."""
        (path,) = files
        check_names(path, sides)
        with write_text(path) as stream:

            def add(pair: Pair) -> None:
                record = {sides[0]: pair.source, sides[1]: pair.target}
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")

            yield add

    def offered_sides(self, path: Path) -> list[str]:
        """The keys of strings in the first records, such as ``translation.en``."""
        found: dict[str, None] = {}
        for line in islice(read_lines(path), _FIRST_RECORDS):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue  # reading the pairs reports the error with its line
            found.update(dict.fromkeys(_strings(record, "", _DEEPEST_KEY)))
        return list(found)


def _value(record: dict[str, Any], key: str, place: str) -> str:
    value: Any = record
    for part in [key] if key in record else key.split("."):
        if not isinstance(value, dict) or part not in value:
            known = value if isinstance(value, dict) else record
            raise DataError(f"{place}: no key {key!r}{instead(part, known, 'keys')}")
        value = value[part]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{place}: {key!r} is {json.dumps(value)[:40]}, expected a string")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"{place}: {key!r} has half of a surrogate pair (\\ud800 to \\udfff); "
                "correct the escape"
            ) from error
    return value


def _strings(record: Any, prefix: str, depth: int) -> Iterator[str]:
    """Dotted keys of the strings in nested objects."""
    if not isinstance(record, dict):
        return
    for key, value in record.items():
        if isinstance(value, str):
            yield f"{prefix}{key}"
        elif depth > 1:
            yield from _strings(value, f"{prefix}{key}.", depth - 1)
