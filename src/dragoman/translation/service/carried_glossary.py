"""Terms of a source that must be in its translation through a third language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from dragoman.text.normalization import normalize
from dragoman.text.terms.glossary import Glossary, Match
from dragoman.text.terms.glossary_files import Term


class CarriedGlossary(Glossary):
    """Finds in each text the terms of the source from which the text was translated.

    Args:
        glossary: of the language of the sources.
        sources: texts in the third language, normalised, with the source of each.
    """

    def __init__(self, glossary: Glossary, sources: Mapping[str, str]) -> None:
        vars(self).update(vars(glossary))  # building tens of thousands of terms takes seconds
        self._glossary, self._sources = glossary, sources

    def candidates(self, text: str) -> Iterator[Match]:
        """The terms of the source of ``text``, each in a separate place."""
        matches = self._glossary.matches(self._sources.get(normalize(text), ""))
        for place, match in enumerate(matches, len(text)):
            yield Match(match.term, place, place + 1)


def carried(
    glossary: Glossary, texts: Sequence[str], sources: Sequence[str]
) -> list[tuple[CarriedGlossary, list[int]]]:
    """Glossaries for texts in the third language, each with the indices of its texts.

    One glossary is enough unless sources with different terms have the same translation.

    Args:
        glossary: of the language of the sources.
        texts: in the third language, normalised.
        sources: the source of each text.
    """

    @cache
    def terms(source: str) -> list[Term]:
        return [match.term for match in glossary.matches(source)]

    groups: list[tuple[dict[str, str], list[int]]] = []
    for place, (text, source) in enumerate(zip(texts, sources, strict=True)):
        for known, places in groups:
            other = known.setdefault(text, source)
            if other == source or terms(other) == terms(source):
                places.append(place)
                break
        else:
            groups.append(({text: source}, [place]))
    return [(CarriedGlossary(glossary, known), places) for known, places in groups]
