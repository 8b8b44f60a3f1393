"""Tables as text: in Markdown, and with aligned columns for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_RULES = {"l": "---", "r": "---:"}


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], alignment: str | None = None
) -> str:
    """A table in Markdown, which no text of a cell can break.

    Args:
        head: names of the columns.
        rows: their cells, in Markdown themselves.
        alignment: a letter for each column, ``l`` for text and ``r`` for numbers; without it, all
            columns are text.
    """
    letters = zip(head, alignment or "l" * len(head), strict=True)
    rules = [_RULES[letter] for _, letter in letters]
    return "\n".join([_markdown_row(head), f"|{'|'.join(rules)}|", *map(_markdown_row, rows)])


def terminal_table(rows: Sequence[Sequence[str]], alignment: str) -> str:
    """Rows whose columns stand below one another, two spaces apart.

    Args:
        rows: cells of one line each; the names of the columns may be the first.
        alignment: as above.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if letter == "r" else cell.ljust(width)
            for cell, width, letter in zip(row, widths, alignment, strict=True)
        ).rstrip()
        for row in rows
    )


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_markdown_cell, cells))} |"


def _markdown_cell(text: str) -> str:
    """On one line, and without a sign that would end it."""
    return " ".join(text.split()).replace("|", r"\|")
