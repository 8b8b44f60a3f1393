"""The errors of a finished run on its dev sets, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dragoman.core.text_tables import terminal_table
from dragoman.core.wording import shown
from dragoman.run.finish_record import choice_in_words, confidence_in_words

_MOST_KINDS = 6


def finish_text(values: Mapping[str, Any]) -> str:
    """What was decided at the end of a run, and the worst kinds of errors; "" if nothing is known.

    Args:
        values: the content of ``finish.json``.
    """
    parts = [choice_in_words(values), confidence_in_words(values)]
    parts += [_errors(name, found) for name, found in values.get("errors", {}).items()]
    return "\n\n".join(part for part in parts if part)


def _errors(name: str, summary: Mapping[str, Any]) -> str:
    """A line for each of the worst kinds of errors on a set."""
    kinds = summary["kinds"][:_MOST_KINDS]
    head = f"Errors on {name}, {summary['lines']:,} lines checked: "
    head += f"{summary['wrong']:,} lines have any" if kinds else "none found"
    rows = terminal_table([list(_cells(kind)) for kind in kinds], "lrl") if kinds else ""
    notes = [f"not checked, {kind}: {reason}" for kind, reason in summary["unchecked"].items()]
    return "\n".join([head, *(f"  {row}" for row in [*rows.splitlines(), *notes])])


def _cells(kind: Mapping[str, Any]) -> Iterator[str]:
    yield kind["title"]
    yield f"{kind['lines']:,} of {kind['of']:,}"
    first = kind["examples"][0]
    yield f"line {first['line']}: {first['message']}: {shown(first['translation'])}"
