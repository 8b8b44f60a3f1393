"""Parts of OpenDocument as tokens, in which the texts of numbers and formulas have another name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.part_tokens import attribute, part_tokens

_CELLS = ("table:table-cell", "table:covered-table-cell")
_WORDS = ("", "string")
"""Types of cells with words that someone has written."""
_VALUE = "table:value"


def cell_tokens(text: str) -> Iterator[MarkupToken]:
    """The tokens of a part.  A paragraph that shows a value is named ``table:value``.

    That is the text of a number, a date, a truth value or a formula, which programs make again.
    Notes and pictures in such a cell have paragraphs like others.
    """
    around: list[tuple[str, bool]] = []  # elements, and whether each is a cell of a value
    for token in part_tokens(text):
        if token.kind == "close":
            name, _ = around.pop()
            yield replace(token, name=name)
            continue
        if token.kind not in ("open", "empty"):
            yield token
            continue
        is_value = token.name in _CELLS and (
            attribute(token, "value-type") not in _WORDS or bool(attribute(token, "formula"))
        )
        name = token.name
        if name == "text:p" and around and around[-1][1]:
            name = _VALUE
        elif is_value:  # its attribute is no text either
            name += "-of-value"
        if token.kind == "open":
            around.append((name, is_value))
        yield replace(token, name=name)
