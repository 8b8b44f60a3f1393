"""A sentence and its translation, as files hold them."""

from __future__ import annotations

from typing import NamedTuple

Link = tuple[int, int]
"""The number of a source word and that of a target word, from 0."""


class Pair(NamedTuple):
    """A source and its translation."""

    source: str
    target: str
    line: int
    """Line of the file, or number of the entry in formats without lines; from 1."""
    before: tuple[tuple[str, str], ...] = ()
    """Sources and targets of its context, the nearest last; empty unless a context is read."""
