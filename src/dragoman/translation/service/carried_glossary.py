"""Terms of a source that must be in its translation through a third language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dragoman.text.glossary import Glossary, Match
from dragoman.text.normalization import normalize


class CarriedGlossary(Glossary):
    """Finds in each text the terms of another one: that which it was translated from.

    Args:
        glossary: of the language of the sources.
        sources: texts in the third language, normalised, and what each was translated from.
    """

    def __init__(self, glossary: Glossary, sources: Mapping[str, str]) -> None:
        super().__init__(glossary.terms, glossary.name)
        self._glossary, self._sources = glossary, sources

    def candidates(self, text: str) -> Iterator[Match]:
        """The terms of the source of ``text``, each in a place of its own."""
        matches = self._glossary.matches(self._sources.get(normalize(text), ""))
        for place, match in enumerate(matches, len(text)):
            yield Match(match.term, place, place + 1)
