"""The box at the beginning of a technique's page: when to take it, and what it gave here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.core.text_tables import markdown_table
from studies.pages.technique_data import Technique

BEGIN = "<!-- The box is made by `python -m studies.pages` from techniques.yaml; edit that. -->"
END = "<!-- The box ends here. -->"
_BOX = re.compile(rf"\n{re.escape(BEGIN)}.*?{re.escape(END)}\n", re.DOTALL)


def with_box(page: str, techniques: Sequence[Technique]) -> str:
    """A page, as Markdown, with the box of its techniques below its title.

    A box that it has already is replaced; a page without techniques has none.
    """
    title, _, text = _BOX.sub("", page).partition("\n")
    if not techniques:
        return f"{title}\n{text}"
    return f"{title}\n\n{BEGIN}\n\n{technique_box(techniques)}\n\n{END}\n{text}"


def technique_box(techniques: Sequence[Technique]) -> str:
    """A table with a column for each technique."""
    rows = [
        ["**When**", *(one.when for one in techniques)],
        ["**Command**", *(f"`{one.command}`" for one in techniques)],
        ["**Gained here**", *map(gains, techniques)],
        ["**Costs**", *(one.costs for one in techniques)],
        ["**Not for**", *(one.not_for for one in techniques)],
    ]
    return markdown_table(["", *(one.name for one in techniques)], rows)


def gains(technique: Technique) -> str:
    """All measured gains with their texts, each with a link to its rows."""
    return "; ".join(f"{gain.linked()}: {gain.what}" for gain in technique.gained)
