"""The common interfaces of translators: of lines, and of given translations as well."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self, Unpack, get_args

from dragoman.core.arguments import check_function
from dragoman.core.errors import ConfigError
from dragoman.core.wording import shown
from dragoman.search import SearchConfig
from dragoman.translation.call_options import LineOptions, SearchOptions
from dragoman.translation.forced import ForcedDecoder
from dragoman.translation.line_stream import TranslatedLine
from dragoman.translation.outputs import (
    Attention,
    AttentionOf,
    Scored,
    TranslatedLines,
    Translation,
    Unscored,
    best_text,
)
from dragoman.translation.terms import GivenGlossary


class LineCall(NamedTuple):
    """Arguments of :meth:`LineTranslator.stream_lines`, apart from the settings of the search."""

    lines: Iterable[str]
    prefix: str | Iterable[str] | None
    glossary: GivenGlossary | None
    numbers: Iterable[int] | None
    progress: Callable[[int], object]


class LineTranslator(ABC):
    """Translates lines; a ``with`` block closes it at its end."""

    @property
    @abstractmethod
    def search(self) -> SearchConfig:
        """Default settings, which a call may override."""

    def stream_lines(
        self,
        lines: Iterable[str],
        *,
        prefix: str | Iterable[str] | None = None,
        glossary: GivenGlossary | None = None,
        numbers: Iterable[int] | None = None,
        progress: Callable[[int], object] | None = None,
        **options: Unpack[SearchOptions],
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
        if progress is not None:
            check_function(progress, "progress")
        show = progress or (lambda _: None)
        return self._stream(LineCall(lines, prefix, glossary, numbers, show), {**options})

    @abstractmethod
    def _stream(self, call: LineCall, options: dict[str, Any]) -> Iterator[TranslatedLine]:
        """The lines of a call with their translations."""

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

    def translate(self, lines: Iterable[str], **options: Unpack[LineOptions]) -> list[str]:
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

    def translate_nbest(
        self, lines: Iterable[str], **options: Unpack[LineOptions]
    ) -> TranslatedLines:
        """The ``nbest`` best translations of each line, or as many samples, best first.

        The beam is at least as wide as ``nbest``, unless ``beam`` is given as well.  Other
        arguments and errors are those of :meth:`translate`, except that a line that is too long
        raises no error.  It has one translation, which is empty and gives the reason
        (:attr:`Translation.refused`).  Fewer than ``nbest`` are returned if there are no more.
        """
        return TranslatedLines(self.stream_nbest(lines, **options))

    def stream(self, lines: Iterable[str], **options: Unpack[LineOptions]) -> Iterator[str]:
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
        options["nbest"] = 1
        translated = self.stream_nbest(lines, **options)
        return (best_text(line) for line in translated)  # a generator, which can be closed

    def stream_nbest(
        self, lines: Iterable[str], **options: Unpack[LineOptions]
    ) -> Iterator[list[Translation]]:
        """The translations of :meth:`stream_lines`, without the lines."""
        return (translations for _, translations in self.stream_lines(lines, **options))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ScoringTranslator(LineTranslator):
    """Translates lines, scores given translations, and shows the attention of its models."""

    @abstractmethod
    def _forced(self, wanted: str) -> ForcedDecoder:
        """The decoder that reads given translations.

        Raises:
            ConfigError: there is a pivot.
            UsageError: the translator is closed.
        """

    def score(self, sources: Sequence[str] | None, targets: Sequence[str]) -> list[Scored]:
        """Score each target as the translation of its source (forced decoding).

        Models that read context read the sources as :meth:`translate` reads lines, and targets as
        well if they have context.

        Args:
            sources: one per target; None for a language model, which scores targets alone.
            targets: the translations to score.

        Raises:
            ConfigError: sources for a language model, or none for a translation model; or there is
                a pivot.
            UsageError: either is a single string or contains anything but strings, or the
                translator is closed.
            DataError: unequal numbers of lines, a line longer than ``max_source_pieces`` or the
                model's positions, or a line with the tag of a language that the model lacks.
        """
        return self._forced("scores").score(sources, targets)

    def score_fit(
        self, sources: Sequence[str] | None, targets: Sequence[str]
    ) -> list[Scored | Unscored]:
        """Score pairs as :meth:`score` does, but each as a text by itself.

        If a pair cannot be scored, the reason takes the place of its score.

        Args:
            sources: one per target; None for a language model.
            targets: the translations to score.

        Raises:
            ConfigError: as for :meth:`score`.
            DataError: unequal numbers of lines.
            UsageError: as for :meth:`score`.
        """
        return self._forced("scores").score_fit(sources, targets)

    def attention(
        self, source: str, target: str | None = None, *, of: AttentionOf = "source"
    ) -> Attention:
        """The attention of the model to ``source`` while it writes ``target``.

        Args:
            source: a sentence.
            target: its translation; the model's own if not given.
            of: the attention over the source, or self-attention within the source (encoder;
                ``target`` is not read) or within the target (decoder).

        Raises:
            ConfigError: an ensemble, a family without such attention, a pivot, or an unknown name
                in ``of``.
            DataError: an empty source; a source or target that is longer than
                ``max_source_pieces`` or the model's positions.
            UsageError: either is not a string, or the translator is closed.
        """
        forced = self._forced("attention")
        if of not in get_args(AttentionOf):
            raise ConfigError(
                f"attention: {shown(of)} is not looked at; choose one of: "
                f"{', '.join(get_args(AttentionOf))}"
            )
        forced.check_shown(of_source=of == "source")
        ids = forced.source_ids(source)
        if target is None and of != "encoder":
            (target,) = self.translate([source])
        if of == "source" and target is not None:
            return forced.attention(ids, target)
        return forced.self_attention(ids, None if of == "encoder" else target)
