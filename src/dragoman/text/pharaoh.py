"""Word alignments in Pharaoh format: ``0-0 1-2 2-1``, one line per sentence pair.

A link is a source word and a target word, counted from 0; words are separated by white space.
fast_align, eflomal, SimAlign and awesome-align write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Link
from dragoman.text.lines import read_lines

__all__ = ["Link", "read_alignments", "read_gold_alignments"]

_LINK = re.compile("([0-9]{1,9})([-p?])([0-9]{1,9})")


def read_alignments(path: Path | str) -> Iterator[list[Link]]:
    """The links of each pair, in the order of the file; an empty line has none.

    Raises:
        DataError: the file is missing, empty, damaged or not UTF-8, or a line holds anything else.
    """
    for number, line in enumerate(read_lines(path), 1):
        yield [link for link, _ in _links(path, number, line, "-")]


def read_gold_alignments(path: Path | str) -> Iterator[tuple[list[Link], list[Link]]]:
    """The sure links of each pair, ``0-0``, and those that are merely possible, ``1p2`` or ``1?2``.

    Raises:
        DataError: as for :func:`read_alignments`.
    """
    for number, line in enumerate(read_lines(path), 1):
        links = list(_links(path, number, line, "-p?"))
        yield (
            [one for one, sign in links if sign == "-"],
            [one for one, sign in links if sign != "-"],
        )


def _links(path: Path | str, number: int, line: str, signs: str) -> Iterator[tuple[Link, str]]:
    for item in line.split():
        found = _LINK.fullmatch(item)
        if found is None or found[2] not in signs:
            raise DataError(
                f"{path}:{number}: {item!r:.40} is not a link; a line has pairs of word "
                "numbers from 0, source before target, such as 0-0 1-2 2-1"
            )
        yield (int(found[1]), int(found[3])), found[2]
