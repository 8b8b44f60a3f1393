"""Share of the terms, placeholders and numbers of a source that its translation keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.terminology import Terminology, missing

Count = Callable[[str, str], tuple[int, int]]
"""Counts the kept items and all items of a source and its translation."""


def counters(
    glossary: Path | str | None = None, languages: tuple[str, str] | None = None
) -> dict[str, Count]:
    """Functions that count terms, placeholders (with tags) and numbers, by these names.

    Repeated items must be translated as often.  Any translation of a term suffices, and any usual
    spelling of a number.

    Args:
        glossary: of the terms, which are not counted without it.
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
    """The ``metrics`` without any items in the sources, whose rate of 100 means nothing."""
    return [
        metric
        for metric in metrics
        if metric in counts and not any(counts[metric](source, "")[1] for source in sources)
    ]


def _kept(terms: Terminology, source: str, translation: str) -> tuple[int, int]:
    wanted = terms.constraints(source)
    return len(wanted) - len(missing(wanted, translation)), len(wanted)
