"""A pair in a file: a source, its translation, and links between their words."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """A source and its translation."""

    source: str
    target: str
    line: int
    """Line of the file, or number of the entry in formats without lines; from 1."""
    before: tuple[tuple[str, str], ...] = ()
    """Sources and targets of its context, the nearest last; empty unless a context is read."""


Link = tuple[int, int]
"""The number of a source word and that of a target word, from 0."""
