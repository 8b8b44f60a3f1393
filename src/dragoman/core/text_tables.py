"""Tables as text: in Markdown, and with aligned columns for a terminal; links within Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_RULES = {"l": "---", "r": "---:"}


def anchor(title: str) -> str:
    """The anchor that GitHub gives a heading: ``"`a.b`, c"`` becomes ``ab-c``."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], alignment: str | None = None
) -> str:
    """A Markdown table, with cell texts escaped, except for Markdown in them.

    ``alignment`` has a letter for each column, ``l`` for text and ``r`` for numbers; without it,
    all columns are text.
    """
    letters = zip(head, alignment or "l" * len(head), strict=True)
    rules = [_RULES[letter] for _, letter in letters]
    return "\n".join([_markdown_row(head), f"|{'|'.join(rules)}|", *map(_markdown_row, rows)])


def terminal_table(rows: Sequence[Sequence[str]], alignment: str) -> str:
    """Rows of cells of one line each, in aligned columns two spaces apart.

    ``alignment`` is that of :func:`markdown_table`.
    """
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            padded(cell, width, letter)
            for cell, width, letter in zip(row, widths, alignment, strict=True)
        ).rstrip()
        for row in rows
    )


def display_width(text: str) -> int:
    """Columns of a text on a terminal.

    Chinese, Japanese and Korean characters and emoji fill two; combining marks and invisible
    characters fill none.
    """
    return sum(map(_width, text))


def padded(text: str, width: int, side: str = "l") -> str:
    """A text with spaces up to a display width, at the left (``l``) or right (``r``) of it."""
    space = " " * (width - display_width(text))
    return space + text if side == "r" else text + space


def _width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_markdown_cell, cells))} |"


def _markdown_cell(text: str) -> str:
    """A cell on one line, without characters that would end it."""
    return " ".join(text.split()).replace("|", r"\|")
