"""Word alignments in Pharaoh format: ``0-0 1-2 2-1``, one line per sentence pair.

A link is a source word and a target word, counted from 0. Words are separated by white space.
fast_align, eflomal, SimAlign and awesome-align write this format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.text.lines import read_lines
from dragoman.text.pairs import Link

__all__ = ["Link", "LinkCheck", "read_alignments", "read_gold_alignments", "word_count"]

_ENOUGH = 10
"""Minimum pairs with links for a check.  If none of them links its first words, words are
counted from 1."""
_LINK = re.compile("([0-9]{1,9})([-p?])([0-9]{1,9})")


def read_alignments(path: Path | str) -> Iterator[list[Link]]:
    """The links of each pair, in the order of the file; an empty line has no links."""
    for number, line in enumerate(read_lines(path), 1):
        yield [link for link, _ in _links(path, number, line, "-")]


def read_gold_alignments(path: Path | str) -> Iterator[tuple[list[Link], list[Link]]]:
    """The sure links of each pair, ``0-0``, and the merely possible links, ``1p2`` or ``1?2``."""
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


def word_count(text: str) -> int | None:
    """Number of words by which links of a text count; None if it depends on the aligner.

    fast_align splits only at spaces and tabs, others also at no-break spaces and the like.
    """
    words = text.split()
    return len(words) if words == re.findall("[^ \t]+", text) else None


class LinkCheck:
    """Checks pair by pair that links refer to words of a text and count from 0."""

    def __init__(self, path: Path | str, text: str) -> None:
        self._path, self._text = path, text
        self._linked, self._first, self._has_zero = 0, 0, False

    def add(self, number: int, links: Sequence[Link], sides: tuple[str, str], place: int) -> None:
        """Checks the links of a pair.

        Args:
            number: their line, from 1.
            place: the pair's line in the text.

        Raises:
            DataError: a link refers to a word that the pair does not have.
        """
        if links:
            self._linked += 1
            self._first = self._first or number
            self._has_zero = self._has_zero or any(0 in link for link in links)
        for at, (side, text) in enumerate(zip(("source", "target"), sides, strict=True)):
            words, linked = word_count(text), max((link[at] for link in links), default=-1)
            if words is not None and linked >= words:
                advice = (
                    "subtract 1 from all numbers"
                    if linked == words and not self._has_zero
                    else "align the original text"
                )
                raise DataError(
                    f"{self._path}:{number}: {side} word {linked} is linked, but the {side} has "
                    f"{words} words, counted from 0 (line {place} of {self._text}); {advice}"
                )

    def finish(self) -> None:
        """Checks all links together.

        Raises:
            DataError: words are counted from 1.
        """
        if self._linked >= _ENOUGH and not self._has_zero:
            raise DataError(
                f"{self._path}:{self._first}: no line links word 0, so words are counted from 1 "
                "here; subtract 1 from all numbers"
            )
