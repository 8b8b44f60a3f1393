"""The page of a topic: its verdict, tables, pictures, and how they were measured."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from dragoman.core.text_tables import markdown_table
from studies.pages.result_data import ResultTable, ResultTopic

COLUMNS = 120
MADE = "<!-- Made by `python -m studies.pages` from {source}; edit that, not this page. -->"
_SIGNS = """
± and brackets are 95 % intervals by the bootstrap, and p is by paired approximate randomisation,
unless a table says otherwise.
"""
_SIGN = re.compile(r"±|\[[+-]\d|\(p\b|\bp \d")
_PLUS_MINUS = "\u00a0±\u00a0"  # a figure stays on one line
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def result_page(name: str, topic: ResultTopic) -> str:
    """The page in docs/results, as Markdown."""
    blocks = [
        f"# {topic.title}",
        MADE.format(source=f"data/{name}.yaml"),
        wrapped(topic.lead),
        wrapped(" · ".join(_pointers(topic))),
    ]
    for number, table in enumerate(topic.tables, start=1):
        blocks += _table(name, number, table)
    if topic.not_measured:
        blocks.append(wrapped(f"**Not measured:** {topic.not_measured}"))
    blocks += [
        # Python-Markdown, which makes the site, leaves other HTML as it is
        '<details markdown="1">\n<summary>Dates, machines and seeds</summary>',
        *([wrapped(_SIGNS)] if _has_signs(topic.tables) else []),
        *_conditions(topic.tables),
        "</details>",
    ]
    return "\n\n".join(blocks) + "\n"


def picture_name(name: str, number: int) -> str:
    """File of the picture of a page's table, numbered from 1."""
    return f"{name}-{number}.svg"


def wrapped(text: str, first: str = "", others: str = "") -> str:
    """A paragraph in lines of the usual length."""
    return textwrap.fill(
        " ".join(text.split()),
        COLUMNS,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _pointers(topic: ResultTopic) -> Iterator[str]:
    if topic.about:
        pages = ", ".join(f"[{page.removesuffix('.md')}](../{page})" for page in topic.about)
        yield f"How it works: {pages}"
    if topic.command:
        yield f"Again: `{topic.command}`"
    yield "[All results](../results.md)"


def _table(name: str, number: int, table: ResultTable) -> Iterator[str]:
    yield f"## {table.title}"
    if table.text:
        yield wrapped(table.text)
    yield markdown_table(table.head, table.rows, table.align).replace(" ± ", _PLUS_MINUS)
    if table.picture:
        yield f"![{table.title}](../images/{table.picture})"
    if table.plot is not None:
        title = _LINK.sub(r"\1", table.title)
        yield f"![{title}: {', '.join(table.plot.names)}](images/{picture_name(name, number)})"
    if table.findings:
        yield "\n".join(wrapped(one, "- ", "  ") for one in table.findings)


def _has_signs(tables: Sequence[ResultTable]) -> bool:
    cells = (cell for table in tables for row in (table.head, *table.rows) for cell in row)
    return any(_SIGN.search(cell) for cell in cells)


def _conditions(tables: Sequence[ResultTable]) -> Iterator[str]:
    """Dates, machines and seeds: once if they are the same for all tables, else a row for each."""
    columns = {
        "date": [table.date for table in tables],
        "[machine](machines.md)": [table.machine for table in tables],
        "seeds": [table.seeds for table in tables],
        "beside": [table.beside for table in tables],
        "command": [f"`{table.command}`" if table.command else "" for table in tables],
    }
    shared = {name: cells[0] for name, cells in columns.items() if len(set(cells)) == 1}
    if stated := ", ".join(f"{name} {cell}" for name, cell in shared.items() if cell):
        start = "All tables: " if len(tables) > 1 else "This table: "
        yield wrapped(f"{start}{stated}.")
    if own := {name: cells for name, cells in columns.items() if name not in shared}:
        titles = [_LINK.sub(r"\1", table.title) for table in tables]
        yield markdown_table(["table", *own], zip(titles, *own.values(), strict=True))
