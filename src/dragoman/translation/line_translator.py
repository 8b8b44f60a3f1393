"""The common interface of everything that translates lines: one system, or a choice by line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import Self

from dragoman.core.errors import ConfigError, DataError
from dragoman.search import SearchConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.line_stream import TranslatedLine
from dragoman.translation.outputs import Translation


class LineTranslator(ABC):
    """Translates lines; a ``with`` block closes it at its end."""

    @property
    @abstractmethod
    def search(self) -> SearchConfig:
        """Default settings, which a call may override."""

    @abstractmethod
    def stream_lines(
        self,
        lines: Iterable[str],
        *,
        prefix: str | Iterable[str] | None = None,
        glossary: Glossary | Mapping[str, str | Sequence[str]] | Path | str | None = None,
        numbers: Iterable[int] | None = None,
        progress: Callable[[int], object] | None = None,
        **options: Any,
    ) -> Iterator[TranslatedLine]:
        """Each line with its ``nbest`` best translations, in order and in bounded memory.

        ``buffer_lines`` lines are read before the first translation is returned, and as many again
        if ``workers`` or another engine process several batches at once.  With 1, each line is
        answered before the next is read.

        Args:
            lines: as in :meth:`translate`.
            prefix: beginning of the translation of every line, or one text per line, "" for none;
                the translation of an empty line stays empty.
            glossary: terms whose translations must be used, in addition to the translator's own:
                a glossary, a file of one, or a mapping.  Terms that a translation still lacks are
                in :attr:`Translation.missing`, and a warning names them.
            numbers: of the lines in the whole input, from 0, if these are not its first lines.
                They seed sampling, and errors report them, counted from 1.  An iterator such as
                ``itertools.count(100)`` may go on for ever.
            progress: called with the number of lines translated so far, after each batch and
                whenever lines that need no search are reached; finally with the total.
            options: values of :class:`~dragoman.search.SearchConfig`.

        Raises:
            DragomanError: the errors of :meth:`translate_nbest`.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the models and engines."""

    @property
    @abstractmethod
    def has_confidence(self) -> bool:
        """Whether translations, or some of them, have a calibrated confidence."""

    @property
    @abstractmethod
    def has_token_scores(self) -> bool:
        """Whether all translations have the log-probabilities of their pieces."""

    def translate(self, lines: Iterable[str], **options: Any) -> list[str]:
        """The best translation of each line; of a language model, the line and its continuation.

        Args:
            lines: source sentences.  The translation of an empty line is empty, but a language
                model starts a new text there.
            options: ``prefix``, ``glossary``, ``numbers`` and ``progress`` as in
                :meth:`stream_lines`; any other is a value of
                :class:`~dragoman.search.SearchConfig` for this call, such as ``beam=8``, and None
                leaves the setting as it is.

        Raises:
            ConfigError: an option does not exist or is out of range.
            UsageError: ``lines`` is a single string or contains anything but strings, or the
                translator is closed.
            DataError: a line, or its prefix, is longer than ``max_source_pieces`` or the model's
                positions; or the vocabulary lacks a character of a prefix.
        """
        return list(self.stream(lines, **options))

    def translate_nbest(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        """The ``nbest`` best translations of each line, or as many samples, best first.

        The beam is at least as wide as ``nbest``, unless ``beam`` is given as well.  Other
        arguments and errors are those of :meth:`translate`, except that a line that is too long
        raises no error.  It has one translation, which is empty and gives the reason
        (:attr:`Translation.refused`).  Fewer than ``nbest`` are returned if there are no more.
        """
        return list(self.stream_nbest(lines, **options))

    def stream(self, lines: Iterable[str], **options: Any) -> Iterator[str]:
        """The best translation of each line, in order and in bounded memory.

        Arguments and errors are those of :meth:`translate`; the translations before a line that
        fails come first.
        """
        nbest = options.pop("nbest", None)
        if nbest is not None and not (isinstance(nbest, int) and nbest == 1):
            raise ConfigError(
                "nbest: only the best translation of each line is returned here; use "
                "translate_nbest"
            )
        translated = self.stream_nbest(lines, **options, nbest=1)
        return (_best(translations) for translations in translated)

    def stream_nbest(self, lines: Iterable[str], **options: Any) -> Iterator[list[Translation]]:
        """The translations of :meth:`stream_lines`, without the lines."""
        return (translations for _, translations in self.stream_lines(lines, **options))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _best(translations: list[Translation]) -> str:
    """The text of the best translation.

    Raises:
        DataError: the line was refused.
    """
    if (reason := translations[0].refused) is not None:
        raise DataError(reason)
    return translations[0].text
