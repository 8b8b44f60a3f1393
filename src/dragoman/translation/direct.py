"""Direct translation of lines by the models, without a pivot language.

Preparing a line for search and finishing its hypotheses are the same for a whole file, a request
to a server, and either leg of a pivot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from dragoman.search import Hypothesis, SearchConfig
from dragoman.text.context import behind_context
from dragoman.text.terms.line_demands import LineDemands
from dragoman.text.terms.term_annotation import TermAnnotator
from dragoman.translation.bayes_risk import check_compared, least_risk
from dragoman.translation.engines.engine import Engine, TorchEngine
from dragoman.translation.line_stream import Line, LineStream, TranslatedLine
from dragoman.translation.outputs import Translation
from dragoman.translation.pivot import Leg, PivotStream
from dragoman.translation.preparation import LineFormat, Preparation
from dragoman.translation.terms import CountedAnnotation, judged
from dragoman.translation.unknowns import UnknownCopier, check_copies


@dataclass(frozen=True)
class DirectTranslation:
    """Models that translate together, with the settings for reading and writing lines."""

    engine: Engine
    """Carries out the searches."""
    local: TorchEngine
    """The models in this process."""
    line_format: LineFormat
    warns_of_unused: bool = True
    """Whether to warn at the end if no term to be annotated was in the lines."""

    def search(
        self,
        lines: Iterator[Line],
        progress: Callable[[int], object],
        config: SearchConfig,
        first: Leg | None,
    ) -> Iterator[TranslatedLine]:
        """Each line with its translations, by any kind of search.

        If ``first`` is given, it translates into the pivot language, from which these models
        translate.
        """
        if config.mbr is not None:
            check_compared(self.line_format.vocabularies, self.line_format.reads_source)
            return least_risk(self.stream, lines, progress, config)
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
        line_format, counted = self.line_format, None
        if isinstance(line_format.annotate, TermAnnotator):
            counted = CountedAnnotation(line_format.annotate)
        prepare = Preparation(replace(line_format, annotate=counted), config)
        copier = None
        if config.unknown == "copy":
            check_copies(self.local.models, line_format.vocabularies, line_format.context)
            copier = UnknownCopier(self.local, line_format, config)

        def finish(line: Line, hypotheses: list[Hypothesis]) -> list[Translation]:
            translations = [self._read(one, line.demands) for one in hypotheses]
            return translations if copier is None else copier.of_line(line, translations)

        stream = LineStream(self.engine, config, prepare, finish, progress)
        if counted is not None and self.warns_of_unused:
            stream.at_end = counted.conclude
        return stream.run(line_format.lines_in_context(lines))

    def _read(self, hypothesis: Hypothesis, demands: LineDemands | None) -> Translation:
        target, context = self.line_format.vocabularies.target, self.line_format.context
        separator = None if context is None else context.written_separator(target)
        ids = behind_context(hypothesis.ids, separator)
        text, scores = target.decode(ids), hypothesis.token_scores
        judgement = judged(demands, text, inline_tags=self.line_format.inline_tags)
        return Translation(
            text,
            hypothesis.score,
            hypothesis.log_probability,
            target.pieces(ids),
            hypothesis.ended,
            missing=judgement.missing,
            invented=judgement.invented,
            confidence=hypothesis.confidence,
            faults=hypothesis.faults,
            token_scores=None if scores is None else scores[len(hypothesis.ids) - len(ids) :],
        )
