"""Lines of reStructuredText, each with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|$)")
_OTHER_ENDS = re.compile(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""At which docutils ends a line, or which it reads as a space."""
_TAB = 8


@dataclass(frozen=True)
class RestLine:
    """A line, or what of it is behind the signs of the blocks that it is in."""

    text: str
    """Without white space at its end, and with tabs as spaces."""
    start: int
    """Place of the text, in characters of the file."""
    column: int = 0
    """Columns in front of the text."""
    is_exact: bool = True
    """Whether the text is what the file has, so that a part of it can be replaced."""

    @property
    def stop(self) -> int:
        """Behind the text."""
        return self.start + len(self.text)

    @property
    def indent(self) -> int:
        """Spaces in front of the words."""
        return len(self.text) - len(self.text.lstrip())

    def cut(self, columns: int) -> RestLine:
        """The line without its first columns."""
        columns = min(columns, len(self.text))
        return replace(
            self,
            text=self.text[columns:],
            start=self.start + columns,
            column=self.column + columns,
        )


def rest_lines(text: str) -> list[RestLine]:
    """The lines of a file."""
    lines = []
    for found in _LINE.finditer(text):
        if found.start() == len(text):
            break
        raw = found[1].rstrip()
        is_exact = "\t" not in raw and not _OTHER_ENDS.search(raw)
        lines.append(RestLine(raw.expandtabs(_TAB).rstrip(), found.start(), 0, is_exact))
    return lines


def dedented(lines: Sequence[RestLine]) -> list[RestLine]:
    """Lines without the white space that all of them begin with."""
    indent = min((line.indent for line in lines if line.text), default=0)
    return [line.cut(indent) for line in lines]


def indented_end(lines: Sequence[RestLine], at: int, columns: int = 1) -> int:
    """Index behind the lines from ``at`` on that are empty, or indented by at least some columns.

    Empty lines at the end do not count.
    """
    end = at
    while at < len(lines) and (not lines[at].text or lines[at].indent >= columns):
        at += 1
        end = at if lines[at - 1].text else end
    return end


def text_end(lines: Sequence[RestLine], at: int) -> int:
    """Index of the empty line behind ``at``, or that of the end."""
    while at < len(lines) and lines[at].text:
        at += 1
    return at


def are_exact(lines: Iterable[RestLine]) -> bool:
    """Whether all lines are as the file has them."""
    return all(line.is_exact for line in lines)
