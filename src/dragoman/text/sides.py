"""Which languages a file offers: the columns, keys or languages that a source or target can be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.text.corpus import CorpusPart
from dragoman.text.lines import COMPRESSIONS, read_lines
from dragoman.text.readers import tmx_languages

_FIRST_RECORDS = 100
_DEEPEST_KEY = 3


def offered_sides(part: CorpusPart) -> list[str]:
    """The names that ``source`` and ``target`` of a part can have; none where they have no names.

    Of JSONL they are the keys with strings in the first records, as in ``translation.en``.

    Args:
        part: one file whose format is told.

    Raises:
        DataError: it cannot be read.
    """
    (path,) = part.files()
    if part.kind == "tsv":
        return next(read_lines(path)).split("\t")
    if part.kind == "tmx":
        return tmx_languages(path)
    return _keys(path) if part.kind == "jsonl" else []


def language_of_file(path: Path) -> str | None:
    """The suffix of a plain file, such as ``de`` of ``train.de.gz``; None if it has none."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return plain.suffix[1:] or None


def _keys(path: Path) -> list[str]:
    found: dict[str, None] = {}
    for line in islice(read_lines(path), _FIRST_RECORDS):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # whoever reads the pairs tells it with its line
        found.update(dict.fromkeys(_strings(record, "", _DEEPEST_KEY)))
    return list(found)


def _strings(record: Any, prefix: str, depth: int) -> Iterator[str]:
    """Dotted keys of the strings in nested objects."""
    if not isinstance(record, dict):
        return
    for key, value in record.items():
        if isinstance(value, str):
            yield f"{prefix}{key}"
        elif depth > 1:
            yield from _strings(value, f"{prefix}{key}.", depth - 1)
