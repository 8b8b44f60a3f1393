"""How many terms of a glossary a translation uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.text.glossary import Glossary


def term_counter(
    path: Path | str, languages: tuple[str, str] | None = None
) -> Callable[[str, str], tuple[int, int]]:
    """A function of a source and its translation: how many terms are used, of how many.

    A term that occurs twice must be used twice; any of its translations will do.

    Args:
        path: the glossary.
        languages: source and target language, needed for TBX only.

    Raises:
        DataError: the glossary is missing or broken.
    """
    glossary = Glossary.read(path, languages)

    def count(source: str, translation: str) -> tuple[int, int]:
        wanted = len(glossary.matches(source))
        return wanted - len(glossary.missing(source, translation)) if wanted else 0, wanted

    return count
