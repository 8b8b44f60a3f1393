"""Direct translation of lines by the models, without a pivot language.

Preparing a line for search and finishing its hypotheses are the same for a whole file, a request
to a server, and either leg of a pivot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from dragoman.search import Hypothesis, SearchConfig
from dragoman.text.context import ContextConfig, behind_context
from dragoman.text.inline_tags import InlineTags
from dragoman.text.terms.term_annotation import TermAnnotator
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.translation.bayes_risk import BayesRiskStream, check_compared
from dragoman.translation.engines.engine import Engine, TorchEngine
from dragoman.translation.forced import ForcedDecoder
from dragoman.translation.line_stream import Constraints, Line, LineStream, TranslatedLine
from dragoman.translation.outputs import Translation
from dragoman.translation.pivot import Leg, PivotStream
from dragoman.translation.preparation import (
    LanguageReminder,
    Preparation,
    context_fitter,
    reading_context,
)
from dragoman.translation.terms import CountedAnnotation, lacking
from dragoman.translation.unknowns import UnknownCopier, check_copies


@dataclass(frozen=True)
class DirectTranslation:
    """Models that translate together, with the settings for reading and writing lines."""

    engine: Engine
    """Carries out the searches."""
    local: TorchEngine
    """The models in this process."""
    vocabularies: Vocabularies
    tags: tuple[str, ...] = ()
    """Tags in front of each source."""
    reminder: LanguageReminder | None = None
    """Warns about lines that name no target language."""
    annotate: TermAnnotator | None = None
    """Annotates the terms in each source before it is encoded."""
    context: ContextConfig | None = None
    """The preceding lines that the models read with each line."""
    inline_tags: InlineTags | None = None
    """Maximum inline tags in a line; None if the models have learned none."""
    warns_of_unused: bool = True
    """Whether to warn at the end if no term to be annotated was in the lines."""

    @property
    def reads_source(self) -> bool:
        """Whether this translates; False for a language model, which continues lines."""
        return self.local.models[0].reads_source

    @property
    def position_limit(self) -> int | None:
        """Maximum positions of a source or target, including the end symbol; None: unlimited."""
        return self.local.scorer.position_limit

    def search(
        self,
        lines: Iterator[Line],
        progress: Callable[[int], object],
        config: SearchConfig,
        first: Leg | None,
    ) -> Iterator[TranslatedLine]:
        """Each line with its translations by any kind of search.

        Args:
            lines: as in :meth:`stream`.
            progress: as in :meth:`stream`.
            config: settings of the search.
            first: translates into the pivot language, from which these models translate.

        Raises:
            ConfigError: the search does not fit the models.
        """
        if config.mbr is not None:
            check_compared(self.vocabularies, self.reads_source)
            return BayesRiskStream(self.stream, config, progress).run(lines)
        if first is None:
            return self.stream(lines, progress, config)
        onward = partial(self.stream, config=config)
        return PivotStream(first, onward, config.nbest, progress).run(lines)

    def stream(
        self,
        lines: Iterator[Line],
        progress: Callable[[int], object],
        config: SearchConfig,
    ) -> Iterator[TranslatedLine]:
        """Each line with its translations, in order and in bounded memory.

        Args:
            lines: a document, or several separated by empty lines.
            progress: called with the number of lines translated so far.
            config: settings of the search, without ``mbr``.
        """
        annotate = None if self.annotate is None else CountedAnnotation(self.annotate)
        prepare = Preparation(
            self.vocabularies,
            config,
            self.position_limit,
            self.reads_source,
            self.tags,
            reminder=self.reminder,
            annotate=annotate,
            context=self.context,
        )
        if self.context is not None:
            lines = map(reading_context(self.context, self.vocabularies.source), lines)
        copier = None if config.unknown == "mark" else self._copier(config)

        def finish(line: Line, hypotheses: list[Hypothesis]) -> list[Translation]:
            translations = [self._read(one, line.constraints) for one in hypotheses]
            return translations if copier is None else copier.of_line(line, translations)

        stream = LineStream(self.engine, config, prepare, finish, progress)
        if annotate is not None and self.warns_of_unused:
            stream.at_end = annotate.conclude
        return stream.run(lines)

    def _copier(self, config: SearchConfig) -> UnknownCopier:
        """The copier that replaces unknown pieces of translations.

        Raises:
            ConfigError: no unknown pieces can occur, or no model has attention.
        """
        check_copies(self.local.models, self.vocabularies, self.context)
        return UnknownCopier(
            self.local,
            self.vocabularies,
            config.tokens_at_once,
            context_fitter(self.context, self.vocabularies, config, self.position_limit),
            tags=self.tags,
            annotate=self.annotate,
            has_inline_tags=self.inline_tags is not None,
        )

    def forced(self, search: SearchConfig) -> ForcedDecoder:
        """The decoder that scores given translations, within the bounds of these settings."""
        return ForcedDecoder(
            self.local,
            self.vocabularies,
            search,
            self.tags,
            reminder=self.reminder,
            annotate=self.annotate,
            context=self.context,
        )

    def _read(self, hypothesis: Hypothesis, constraints: Constraints) -> Translation:
        target, context = self.vocabularies.target, self.context
        separator = None if context is None else context.written_separator(target)
        ids = behind_context(hypothesis.ids, separator)
        text, scores = target.decode(ids), hypothesis.token_scores
        return Translation(
            text,
            hypothesis.score,
            hypothesis.log_probability,
            target.pieces(ids),
            hypothesis.ended,
            missing=lacking(constraints, text, has_inline_tags=self.inline_tags is not None),
            confidence=hypothesis.confidence,
            faults=hypothesis.faults,
            token_scores=None if scores is None else scores[len(hypothesis.ids) - len(ids) :],
        )
