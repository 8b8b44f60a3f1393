"""Scoring a model on a dev or test set.

Processes that train together divide the sentences of a set evenly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from dragoman.core.errors import DataError
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    SourceSide,
    check_installed,
    check_references,
    metrics_of,
    perplexity,
    score_corpus,
)
from dragoman.models.interface import TranslationModel
from dragoman.search.strategy import SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.corpus import (
    evaluation_examples,
    evaluation_pairs,
    own_source,
    reference_sets,
)
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.inline_tags import InlineTags
from dragoman.text.labels import unknown_label
from dragoman.text.terms.terminology import counters
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.distributed import World
from dragoman.training.observers import output_is_constant
from dragoman.translation.outputs import Scored, best_text, total
from dragoman.translation.preparation import LineFormat
from dragoman.translation.translator import Translator

log = logging.getLogger(__name__)

ROUND_TRIP = "round_trip"
"""BLEU of text translated into another language and back (Lample et al. 2018, arXiv:1711.00043,
section 3.4)."""

Report = dict[str, Any]
"""Figures of one set: its languages, ``loss`` and ``perplexity`` as numbers, metrics as value and
signature."""


class Rendered(NamedTuple):
    """A line of a set with a model's translation."""

    line: int
    """Its line or entry in the file."""
    source: str
    """Without tags and context."""
    reference: str
    text: str
    """The translation."""
    log_probability: float
    """Natural logarithm of the translation's probability, including the end symbol."""
    pieces: int
    """Pieces of the translation, without the end symbol."""
    source_pieces: int
    """Pieces of the source as the model reads it, without the end symbol."""


ShowTranslations: TypeAlias = Callable[[str, Sequence[Rendered]], object]
"""Receives the name of a set and its translations."""


class Evaluated(NamedTuple):
    """A set, scored."""

    report: Report
    translations: list[Rendered] | None
    """In the order of the lines; None if nothing is translated."""


class Validation:
    """Scores models on one set of pairs, with the same search as in translation.

    Args:
        part: the pairs; those with an empty side are excluded.
        vocabularies: of the models.
        search: settings of search.
        evaluation: settings of scoring.
        world: the processes that share the sentences; each of them gets all figures.
        inline_tags: those that the models learn; None without any.

    Raises:
        DataError: no pair has all its sides filled, or a metric cannot compare anything with the
            references.
    """

    def __init__(
        self,
        part: CorpusPart,
        vocabularies: Vocabularies,
        search: SearchConfig,
        evaluation: EvaluationConfig,
        world: World,
        *,
        inline_tags: InlineTags | None = None,
    ) -> None:
        self._metrics: tuple[str, ...] = evaluation.metrics
        check_installed(evaluation)
        self._vocabularies, self._search, self._evaluation = vocabularies, search, evaluation
        self._world, self._context, self._inline_tags = world, part.context, inline_tags
        examples = list(evaluation_examples(part))
        pairs = [Pair(example.tagged_source, example.target, example.line) for example in examples]
        if not pairs:
            sides = "both sides" if part.has_source else "its side"
            rest = " that its filters keep" if part.prepared_transforms else ""
            raise DataError(f"{part.name}: no pair with {sides} filled{rest}")
        self._name, self._pairs = part.name, pairs
        direction = part.direction
        self._languages = direction.source_language, direction.target_language
        self.sources = [pair.source for pair in pairs] if part.gives_source else None
        self.references = [pair.target for pair in pairs]
        scored = part.scored()
        scored_pairs = pairs if scored is part else list(evaluation_pairs(scored))
        self._scored_references = reference_sets(scored, scored_pairs)
        self._source_side = None
        if self.sources is not None:
            owed = [own_source(example, part) for example in examples]
            self._source_side = source_side(owed, evaluation, self._languages)
            # Now rather than after the first part of training.
            for references in self._scored_references:
                check_references(references, evaluation, self._source_side)

    def check_lengths(self, model: TranslationModel) -> None:
        """Check before training, cheaply, that a model of this kind can read all lines.

        Raises:
            DataError: a line is longer than ``max_source_pieces`` or the model's positions.
        """
        reason = too_long(
            self._pairs, self._vocabularies, self._search, model.position_limit, self._context
        )
        if reason is not None:
            raise DataError(f"{self._name}: {reason}")

    def check_labels(self) -> None:
        """Check that a classifier can give all labels.

        Raises:
            DataError: a label is not among its outputs.
        """
        for pair in self._pairs:
            if reason := unknown_label(pair.target, self._vocabularies.target):
                raise DataError(f"{self._name}: line {pair.line}: {reason}")

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        """Loss in nats per token, perplexity, and each metric by name."""
        return figures(self.report(model))

    def report(self, model: TranslationModel) -> Report:
        """The same figures, with the signatures of metrics."""
        return self.evaluate(model).report

    def evaluate(self, model: TranslationModel) -> Evaluated:
        """The report, and the translations that were scored for it."""
        translator = self._translator(model)
        shares = self._shares(range(len(self.references)))
        found = self._world.gather(lambda: self._measure(translator, shares[self._world.rank]))
        # In the order of the lines, so that figures do not depend on the number of processes.
        scored = _in_order(shares, [part["scored"] for part in found])
        log_probability, tokens = total([Scored(*line) for line in scored])
        source_language, target_language = self._languages
        report: Report = {
            "source_language": source_language,
            "target_language": target_language,
            "loss": -log_probability / tokens,
            "perplexity": perplexity(log_probability, tokens),
        }
        if not self._evaluation.metrics:
            return Evaluated(report, None)
        searched = _in_order(shares, [part["searched"] for part in found])
        report |= self._score([text for text, *_ in searched])
        return Evaluated(report, self._rendered(searched))

    def _rendered(self, searched: Sequence[tuple[str, float, int]]) -> list[Rendered] | None:
        """The lines with translations, their log-probabilities and pieces."""
        if self.sources is None or self._source_side is None:
            return None
        lengths = map(len, self._vocabularies.source.encode_batch(self.sources))
        return [
            Rendered(pair.line, own, pair.target, *result, length)
            for pair, own, result, length in zip(
                self._pairs, self._source_side.lines, searched, lengths, strict=True
            )
        ]

    def sample_scores(self, model: TranslationModel, most: int, **options: Any) -> dict[str, float]:
        """The metrics on ``most`` lines, at even distances, with other settings of search."""
        translator, count = self._translator(model), len(self.references)
        lines = [number * count // most for number in range(most)] if count > most else range(count)
        shares = self._shares(lines)

        def work() -> list[str]:
            sources = self._sources(translator, shares[self._world.rank])
            assert sources is not None, "a language model is not searched with"
            return translator.translate(sources, **options)

        hypotheses = _in_order(shares, self._world.gather(work))
        chosen = [[references[line] for line in lines] for references in self._scored_references]
        side = self._source_side
        if side is not None:
            side = replace(side, lines=[side.lines[line] for line in lines])
        scores = score_corpus(hypotheses, chosen, self._evaluation, side)
        return {name: one.value for name, one in zip(self._metrics, scores, strict=True)}

    def _translator(self, model: TranslationModel) -> Translator:
        return Translator(
            [model],
            self._vocabularies,
            self._search,
            context=self._context,
            inline_tags=self._inline_tags,
        )

    def _shares(self, lines: Sequence[int]) -> list[list[int]]:
        """Some sentences, divided among processes: equal in number and similar in length."""

        def characters(number: int) -> int:
            source = self.sources[number] if self.sources is not None else ""
            return len(source) + len(self.references[number])

        by_length = sorted(lines, key=characters)
        size = self._world.size
        return [sorted(by_length[rank::size]) for rank in range(size)]

    def _measure(self, translator: Translator, numbers: list[int]) -> dict[str, Any]:
        sources = self._sources(translator, numbers)
        references = [self.references[number] for number in numbers]
        found: dict[str, Any] = {"scored": translator.score(sources, references)}
        if self._evaluation.metrics:
            assert sources is not None, "the configuration ensures it"
            best = translator.stream_nbest(sources, nbest=1)
            found["searched"] = [
                (best_text(line), line[0].log_probability, len(line[0].pieces)) for line in best
            ]
        return found

    def _sources(self, translator: Translator, numbers: Sequence[int]) -> list[str] | None:
        """Sources for the model to translate; None for a language model."""
        del translator  # for text whose sources a model makes itself
        return None if self.sources is None else [self.sources[number] for number in numbers]

    def _score(self, hypotheses: list[str]) -> Report:
        of_labels = metrics_of("labels", self._metrics)  # few labels differ by their nature
        judged = self._world.is_leader and of_labels != [*self._metrics]
        if judged and (warning := output_is_constant(hypotheses)):
            log.warning(warning)
        scores = score_corpus(
            hypotheses, self._scored_references, self._evaluation, self._source_side
        )
        return {
            metric: score.to_json() for metric, score in zip(self._metrics, scores, strict=True)
        }


def source_side(
    sources: Sequence[str], evaluation: EvaluationConfig, languages: tuple[str, str]
) -> SourceSide:
    """Sources for the metrics that read them, with the glossary if one is named.

    Sources are without tags and context, which no translation has.
    """
    return SourceSide(sources, counters(evaluation.glossary, languages))


class MeanValidation:
    """Several dev sets: the mean of each figure, with equal weights, selects the best checkpoint.

    Args:
        sets: by the names of their scores, such as ``dev_en-de``.
        apart: names of those that take no part in the mean.
        show: called with the name and the translations of each set.
    """

    def __init__(
        self,
        sets: Mapping[str, Validation],
        apart: Collection[str] = (),
        show: ShowTranslations | None = None,
    ) -> None:
        self._sets, self._apart, self._show = sets, apart, show

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        """Mean figures by name; with several sets, also those of each, as ``bleu/dev_en-de``."""
        found = {}
        for name, validation in self._sets.items():
            evaluated = validation.evaluate(model)
            found[name] = figures(evaluated.report)
            if self._show is not None and evaluated.translations:
                self._show(name, evaluated.translations)
        means = mean_figures({name: found[name] for name in found if name not in self._apart})
        if len(found) > 1:
            for name, one in found.items():
                means |= {f"{metric}/{name}": value for metric, value in one.items()}
        return means


def mean_figures(sets: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean of each figure over the sets.

    Round trips count only in their own figure, unless all sets are round trips.
    """
    trips = [value for value in sets.values() if ROUND_TRIP in value]
    counted = [value for value in sets.values() if ROUND_TRIP not in value] or trips
    means = {name: fmean(figures_of_set[name] for figures_of_set in counted) for name in counted[0]}
    if trips:
        means[ROUND_TRIP] = fmean(trip[ROUND_TRIP] for trip in trips)
    return means


def _in_order(shares: list[list[int]], found: list[list[Any]]) -> list[Any]:
    """Results of all processes in the order of the sentences."""
    pairs = zip(chain(*shares), chain(*found), strict=True)
    return [one for _, one in sorted(pairs, key=itemgetter(0))]


def too_long(
    pairs: Sequence[Pair],
    vocabularies: Vocabularies,
    search: SearchConfig,
    positions: int | None,
    context: ContextConfig | None = None,
) -> str | None:
    """The reason why the first unfit line cannot be translated or scored; None if all can."""
    sources = vocabularies.source.encode_batch([pair.source for pair in pairs])
    targets = vocabularies.target.encode_batch([pair.target for pair in pairs])
    line_format = LineFormat(vocabularies, positions=positions, context=context)
    if (fitter := line_format.fitter(search)) is not None:
        texts = [pair.source for pair in pairs], [pair.target for pair in pairs]
        sources, targets = fitter(*texts, sources, targets)
    for pair, source, target in zip(pairs, sources, targets, strict=True):
        reason = search.refusal(max(len(source), len(target)), positions)
        if reason is not None:
            return f"line {pair.line}: {reason}"
    return None


def figures(report: Report) -> dict[str, float]:
    """The numbers of a report."""
    return {
        name: value["value"] if isinstance(value, dict) else value
        for name, value in report.items()
        if not isinstance(value, str)
    }
