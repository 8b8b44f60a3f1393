"""Lines whose markup is symbols to the models, as in their training text.

A model that has learned placeholders and tags as symbols has never read them as they are written.
With symbols, search writes each exactly once (see :mod:`dragoman.text.inline_tags`).
"""

from __future__ import annotations

from dataclasses import replace

from dragoman.text.markup_spans import SymbolisedText, symbolised
from dragoman.text.normalization import normalize
from dragoman.translation.line_stream import Line, TranslatedLine
from dragoman.translation.outputs import Translation
from dragoman.translation.preparation import LineFormat


class MarkupLines:
    """Puts symbols in place of the markup of lines, and the markup in place of their symbols.

    Args:
        line_format: with the markup that the models read as symbols, and the number of these.
        stay: whether all lines stay as they are, as lines with context do.
    """

    def __init__(self, line_format: LineFormat, *, stay: bool = False) -> None:
        self._tags, self._styles = line_format.inline_tags, line_format.markup
        self._stay = stay or not self._styles or line_format.context is not None

    def read(self, line: Line) -> Line:
        """A line as it is translated; one with a prefix stays, whose symbols nobody knows."""
        if self._stay or self._tags is None or line.prefix:
            return line
        markup = symbolised(normalize(line.text), self._styles, self._tags)
        return line if markup is None else replace(line, text=markup.text, markup=markup)

    def write(self, translated: TranslatedLine) -> TranslatedLine:
        """The translations of a line with its markup."""
        line, translations = translated
        if line.markup is None:
            return translated
        return TranslatedLine(line, [_written(line.markup, one) for one in translations])


def _written(markup: SymbolisedText, translation: Translation) -> Translation:
    if translation.refused is not None:
        return translation
    text, missing = markup.written(translation.text), translation.missing
    if lost := markup.lost(translation.text):
        missing = (*(missing or ()), *lost)
    return replace(translation, text=text, missing=missing)
