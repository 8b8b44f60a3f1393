"""How much of what it owes its source a translation has: terms, placeholders, numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.terminology import Terminology, missing

Count = Callable[[str, str], tuple[int, int]]
"""Of a source and its translation: how many items are kept, of how many."""


def counters(
    glossary: Path | str | None = None, languages: tuple[str, str] | None = None
) -> dict[str, Count]:
    """What counts terms, placeholders (with tags) and numbers, by these names.

    What occurs twice must be there twice.  Any translation of a term will do, and any usual way to
    write a number.

    Args:
        glossary: of the terms; without one, nothing counts these.
        languages: source and target language of the glossary, needed for TBX only.

    Raises:
        DataError: the glossary is missing or broken.
    """
    found = {
        "placeholders": Terminology(protect=("placeholders", "tags")),
        "numbers": Terminology(protect=("numbers",)),
    }
    if glossary is not None:
        found["terms"] = Terminology([Glossary.read(glossary, languages)])
    return {name: partial(_kept, terms) for name, terms in found.items()}


def nothing_to_count(
    sources: Sequence[str], counts: Mapping[str, Count], metrics: Sequence[str]
) -> list[str]:
    """Those of ``metrics`` of which no source has anything, so that a rate of 100 says nothing."""
    return [
        metric
        for metric in metrics
        if metric in counts and not any(counts[metric](source, "")[1] for source in sources)
    ]


def _kept(terms: Terminology, source: str, translation: str) -> tuple[int, int]:
    wanted = terms.constraints(source)
    return len(wanted) - len(missing(wanted, translation)), len(wanted)
