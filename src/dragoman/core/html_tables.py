"""Tables of HTML, in which notebooks show results (``_repr_html_``)."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MOST = 50
"""Rows that are shown; a result may have thousands."""
_STYLE = "text-align:left;vertical-align:top"


def html_table(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> str:
    """A table with a row for each mapping; columns without a value are left out.

    Args:
        rows: values by column.
        columns: the columns to show; by default, all keys of the first row.
    """
    shown = rows[:_MOST]
    names = [
        name
        for name in columns or (rows[0] if rows else ())
        if any(row.get(name) not in (None, (), "") for row in shown)
    ]
    body = "".join(
        f"<tr>{''.join(_cell(_worded(row.get(name))) for name in names)}</tr>" for row in shown
    )
    more = f"<p>and {len(rows) - _MOST:,} more</p>" if len(rows) > _MOST else ""
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def heat_table(
    values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]
) -> str:
    """A table whose cells are the darker the nearer their values are to 1.

    Args:
        values: from 0 to 1, by row and column.
        rows: names of the rows.
        columns: names of the columns.
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    lines = []
    for name, line in zip(rows, values, strict=True):
        cells = "".join(
            f'<td title="{value:.3f}" style="background:rgba(31,119,180,{value:.3f})">&nbsp;</td>'
            for value in line
        )
        lines.append(f"<tr><th>{html.escape(name)}</th>{cells}</tr>")
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(text: str) -> str:
    return f'<td style="{_STYLE}">{html.escape(text)}</td>'


def _worded(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_worded, value))
    return str(value)
