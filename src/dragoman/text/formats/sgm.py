"""Test sets in the SGML of NIST and, until 2020, of WMT: a file for each side."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.formats.plain import aligned
from dragoman.text.lines import read_lines
from dragoman.text.pairs import Pair

_BEGIN, _END = re.compile(r"<seg\b[^<>]*>", re.IGNORECASE), re.compile("</seg>", re.IGNORECASE)
_HEAD = re.compile(r"<(?:src|ref|tst)set\b[^<>]*>", re.IGNORECASE)
_LONGEST_SEGMENT = 2**24  # characters; a longer one is not text
_UNNAMED = ("", "any")  # what WMT has written for a set of several source languages


class Sgm(Format):
    """A file of source segments and one of target segments, or only the latter.

    It is not read as SGML, as few of these files are valid: many have a bare ``&``.
    """

    name = "sgm"
    suffixes = (".sgm", ".sgml")
    counts = "segment"
    sides = "files"
    one_file = False

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs of segments, in the order of the files; those of one file have empty sources.

        Raises:
            DataError: a file has no segments, or the two differ in their number.
        """
        return aligned(files, _segments_of, "segment")

    def languages(self, path: Path) -> tuple[str | None, str | None]:
        """The source language of a file's set, and the target language unless it is the source."""
        heads = (head for line in read_lines(path) for head in _HEAD.findall(line))
        head = next(heads, "")
        return _attribute(head, "srclang"), _attribute(head, "trglang")


def segments(text: str) -> Iterator[str]:
    """The segments of a set, each as one line, with entities resolved."""
    for before_end in _END.split(text)[:-1]:
        if (begin := _BEGIN.search(before_end)) is not None:
            yield " ".join(html.unescape(before_end[begin.end() :]).split())


def _segments_of(path: Path) -> Iterator[str]:
    """The segments of a file, in constant memory."""
    found, held, length = False, [], 0
    for line in read_lines(path):
        held.append(line)
        length += len(line)
        if length > _LONGEST_SEGMENT:
            break
        if _END.search(line):
            for segment in segments("\n".join(held)):
                found = True
                yield segment
            held, length = [_END.split(line)[-1]], 0
    if not found or length > _LONGEST_SEGMENT:
        raise DataError(f"{path}: no segments, <seg> ... </seg>; is it another format?")


def _attribute(tag: str, name: str) -> str | None:
    found = re.search(rf"""\b{name}\s*=\s*["']?([\w-]*)""", tag, re.IGNORECASE)
    return None if found is None or found[1].lower() in _UNNAMED else found[1]
