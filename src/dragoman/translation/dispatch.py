"""Lines that are translated in different ways: sorted into groups, then back into order."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig
from dragoman.translation.line_stream import Line, TranslatedLine, buffered, numbered
from dragoman.translation.line_translator import LineCall, LineTranslator
from dragoman.translation.outputs import Translation
from dragoman.translation.terms import UseOfTerms, read_glossary
from dragoman.translation.translator import Translator


def translator_apart(system: TranslationSystem, where: str, decided: str) -> Translator:
    """Open a translator for lines of a text whose property ``decided`` is that of its system.

    Raises:
        ConfigError: its models read the preceding lines, which then are others.
        DragomanError: the errors of :meth:`Translator.of`.
    """
    translator = Translator.of(system, where)
    if translator.context is None:
        return translator
    translator.close()
    raise ConfigError(
        f"{system.models[0]}: it reads context, and where the {decided} is decided line by line, "
        f"lines are translated apart from those before them; name one {decided} for all lines"
    )


class Dispatcher(LineTranslator):
    """Gives each line to a translator by its group, such as its language.

    A ``with`` block closes all translators at its end.
    """

    @abstractmethod
    def _sorted(self, lines: Sequence[Line]) -> Iterator[tuple[str | None, Line]]:
        """The group of each line (None: no group), and the line as it is translated."""

    @abstractmethod
    def _translator(self, group: str | None) -> AbstractContextManager[Translator]:
        """The translator of a group's lines, for a block."""

    @abstractmethod
    def _translators(self) -> Iterable[Translator]:
        """All translators; the first is that of lines without a group."""

    @property
    @override
    def search(self) -> SearchConfig:
        """Settings of the translator of lines without a group."""
        return next(iter(self._translators())).search

    @property
    @override
    def has_confidence(self) -> bool:
        """Whether translations of some lines have a calibrated confidence."""
        return any(translator.has_confidence for translator in self._translators())

    @property
    @override
    def has_token_scores(self) -> bool:
        return all(translator.has_token_scores for translator in self._translators())

    @override
    def close(self) -> None:
        """Close all translators."""
        for translator in self._translators():
            translator.close()

    @override
    def _stream(self, call: LineCall, options: dict[str, Any]) -> Iterator[TranslatedLine]:
        if call.glossary is not None:  # once, not for each buffer and group
            options["glossary"] = read_glossary(call.glossary)
        lines = numbered(call.lines, "" if call.prefix is None else call.prefix, call.numbers)
        others = next(iter(self._translators()))
        size = others.configure(buffer_lines=options.pop("buffer_lines", None)).buffer_lines
        return self._streamed(buffered(lines, size), call, options)

    def _streamed(
        self, buffers: Iterator[list[Line]], call: LineCall, options: dict[str, Any]
    ) -> Iterator[TranslatedLine]:
        done, use = 0, UseOfTerms()
        for buffer in buffers:
            with use.counts():
                translated = self._translated(buffer, call.prefix is not None, options)
            yield from map(TranslatedLine, buffer, translated)
            done += len(buffer)
            call.progress(done)
        use.warn()

    def _translated(
        self, lines: list[Line], prefixed: bool, options: dict[str, Any]
    ) -> list[list[Translation]]:
        """Translations of some lines, whose prefixes count if they are ``prefixed``."""
        places: dict[str | None, list[int]] = defaultdict(list)
        given: list[Line] = []
        for place, (group, line) in enumerate(self._sorted(lines)):
            places[group].append(place)
            given.append(line)
        translations: list[list[Translation]] = [[] for _ in lines]
        for group, mine in places.items():
            with self._translator(group) as translator:
                translated = translator.translate_nbest(
                    [given[place].text for place in mine],
                    prefix=[given[place].prefix for place in mine] if prefixed else None,
                    numbers=[given[place].number for place in mine],
                    **options,
                )
            for place, one in zip(mine, translated, strict=True):
                translations[place] = one
        return translations
