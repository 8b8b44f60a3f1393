"""What changes lines before models read them, and is undone in their translations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from dragoman.search import SearchConfig
from dragoman.text.terms.terminology import Terminology
from dragoman.text.vocabularies import Vocabulary
from dragoman.translation.capital_lines import CapitalLines
from dragoman.translation.line_stream import Line, TranslatedLine
from dragoman.translation.markup_lines import MarkupLines
from dragoman.translation.preparation import LineFormat


class LineRewriting(Protocol):
    """A change of lines, with its reverse."""

    def read(self, line: Line) -> Line:
        """The line as it is translated."""

    def write(self, translated: TranslatedLine) -> TranslatedLine:
        """The translations as they answer the line that was given."""


class LineRewritings:
    """All changes of the lines of a call.

    Args:
        line_format: of the models that translate.
        terms: of the translations.
        config: settings of the search.
        source: vocabulary of the lines.
        languages: of the lines and translations, if they have names.
        has_pivot: whether other models read the lines first.
    """

    def __init__(
        self,
        line_format: LineFormat,
        terms: Terminology,
        config: SearchConfig,
        source: Vocabulary,
        languages: tuple[str, str] | None,
        *,
        has_pivot: bool,
    ) -> None:
        any_text = config.grammar == "any" and line_format.reads_source
        keeps = config.capitals == "keep" or not any_text
        is_markup_kept = has_pivot or not any_text or not terms.protects
        self._all: Sequence[LineRewriting] = (
            CapitalLines(terms, source, languages, line_format.context, stay=keeps),
            MarkupLines(line_format, stay=is_markup_kept),
        )

    def read(self, lines: Iterator[Line]) -> Iterator[Line]:
        """The lines as they are translated."""
        for one in self._all:
            lines = map(one.read, lines)
        return lines

    def write(self, translated: TranslatedLine) -> TranslatedLine:
        """The translations as they answer the line that was given."""
        for one in reversed(self._all):
            translated = one.write(translated)
        return translated
