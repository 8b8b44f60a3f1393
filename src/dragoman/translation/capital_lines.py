"""Lines in capitals, which are translated in their usual case and put in capitals again.

What ordinary text is not written in, a model of it cannot read: its vocabulary splits capitals into
letters.  Placeholders, tags, addresses and whatever else is copied keep their case on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from dragoman.text.capitals import (
    in_capitals,
    is_in_capitals,
    may_be_in_capitals,
    without_capitals,
)
from dragoman.text.context import ContextConfig
from dragoman.text.normalization import normalize
from dragoman.text.tags import LANGUAGE_TAG, TAG
from dragoman.text.terms.copied_text import is_copied
from dragoman.text.terms.line_demands import LineDemands
from dragoman.text.terms.terminology import ProtectedKind, Terminology
from dragoman.text.vocabularies import UNK, Vocabulary
from dragoman.text.word_edges import Span, longest_apart, occurrences
from dragoman.translation.line_stream import Line, TranslatedLine
from dragoman.translation.outputs import Translation

_CASED: tuple[ProtectedKind, ...] = ("placeholders", "tags", "urls")
_FOR_PROGRAMS = Terminology(protect=_CASED)
"""What keeps its case even if nothing is protected."""
_UNKNOWN = 1000
"""Pieces that an unknown one counts for."""


class CapitalLines:
    """Takes the capitals from lines, and gives them to their translations.

    Args:
        terms: of the translations, some of which are copied.
        source: vocabulary of the lines.
        languages: of the lines and translations, if they have names.
        context: of the lines, behind which the sentence itself comes.
        stay: whether all lines stay as they are.
    """

    def __init__(
        self,
        terms: Terminology,
        source: Vocabulary,
        languages: tuple[str, str] | None = None,
        context: ContextConfig | None = None,
        *,
        stay: bool = False,
    ) -> None:
        self._terms, self._stay = terms, stay
        self._source = None if languages is None else languages[0]
        self._target = None if languages is None else languages[1]
        self._separator = None if context is None else context.separator
        self._tags = frozenset(source.pieces(source.tags))

        @cache
        def rarity(word: str) -> tuple[int, int]:
            ids = source.encode(word)
            # Of single pieces, vocabularies list the most frequent first.
            return len(ids) + _UNKNOWN * ids.count(UNK), ids[0] if len(ids) == 1 else 0

        self._rarity = rarity

    def read(self, line: Line) -> Line:
        """A line as it is translated; one with a prefix stays, as its translation has its case."""
        text = line.text
        if line.prefix or (usual := self.usual(text)) == text:
            return line
        return replace(line, text=usual, in_capitals=True)

    def usual(self, line: str) -> str:
        """The text of a line in its usual case; of a line that stays, the text itself."""
        if self._stay or not may_be_in_capitals(line):
            return line
        text, before = normalize(line), ""
        if self._separator is not None:
            *context, text = text.rpartition(self._separator)
            before = "".join(context)
        kept = self._kept(text)
        if not is_in_capitals(text, kept) or is_copied(text):
            return line
        usual = without_capitals(text, self._rarity, kept, self._source)
        return line if usual == text else before + usual

    def write(self, translated: TranslatedLine) -> TranslatedLine:
        """The translations of a line, in capitals if the line was."""
        line, translations = translated
        if not line.in_capitals:
            return translated
        return TranslatedLine(line, [self._written(line, one) for one in translations])

    def _written(self, line: Line, translation: Translation) -> Translation:
        text = normalize(translation.text)
        target = next((tag[1] for tag in LANGUAGE_TAG.finditer(line.text)), self._target)
        kept = self._kept(text, line.demands or LineDemands())
        return replace(translation, text=in_capitals(text, kept, target))

    def _kept(self, text: str, demands: LineDemands | None = None) -> list[Span]:
        """Places of what keeps its case in a line, or in a translation with its demands."""
        found = [*self._terms.protected(text), *_FOR_PROGRAMS.protected(text)]
        found += [tag.span() for tag in TAG.finditer(text) if tag[0] in self._tags]
        found += self._copied(text, demands)
        return [found[index] for index in longest_apart(found)]

    def _copied(self, text: str, demands: LineDemands | None) -> Iterator[Span]:
        """Places of terms of glossaries that are copied, or are written in capitals."""
        if demands is None:
            for glossary in self._terms.glossaries:
                for term, start, end in glossary.candidates(text):
                    if term.do_not_translate or term.source.isupper():
                        yield start, end
            return
        for one in demands.phrases:
            if one.copied:
                yield from occurrences(text, one.name, whole=one.whole)
