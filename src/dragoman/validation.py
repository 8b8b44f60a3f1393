"""Scoring a model on a dev or test set, and ``scores.json``, where a run keeps its scores.

Processes that train together divide the sentences of a set evenly.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from dragoman.core.errors import DataError, SavedError
from dragoman.core.files import read_json, write_json
from dragoman.evaluation.metrics import (
    OF_LABELS,
    EvaluationConfig,
    check_installed,
    perplexity,
    score_corpus,
)
from dragoman.models.interface import TranslationModel
from dragoman.search.strategy import SearchConfig
from dragoman.text.corpus import CorpusPart, Pair, evaluation_pairs
from dragoman.text.labels import unknown_label
from dragoman.text.vocabulary import Vocabularies
from dragoman.training.distributed import World
from dragoman.training.health import output_is_constant
from dragoman.translation.outputs import Scored, total
from dragoman.translation.translator import Translator

log = logging.getLogger(__name__)

SCORES_FILE = "scores.json"

Report = dict[str, Any]
"""Figures of one set: its languages, ``loss`` and ``perplexity`` as numbers, metrics as value and
signature."""


class Validation:
    """Scores models on one set of pairs, with the same search as in translation.

    Args:
        part: the pairs; those with an empty side are excluded.
        vocabularies: of the models.
        search: how to translate.
        evaluation: how to score.
        world: the processes that share the sentences; each of them gets all figures.

    Raises:
        DataError: no pair has all its sides filled.
        MissingExtraError: a package that a metric needs is not installed.
    """

    def __init__(
        self,
        part: CorpusPart,
        vocabularies: Vocabularies,
        search: SearchConfig,
        evaluation: EvaluationConfig,
        world: World,
    ) -> None:
        check_installed(evaluation)
        self._vocabularies, self._search, self._evaluation = vocabularies, search, evaluation
        self._world = world
        pairs = list(evaluation_pairs(part))
        if not pairs:
            sides = "both sides" if part.has_source else "its side"
            rest = " that its filters keep" if part.prepared_transforms else ""
            raise DataError(f"{part.name}: no pair with {sides} filled{rest}")
        self._name, self._pairs = part.name, pairs
        direction = part.direction
        self._languages = direction.source_language, direction.target_language
        self.sources = [pair.source for pair in pairs] if part.gives_source else None
        self.references = [pair.target for pair in pairs]

    def check_lengths(self, model: TranslationModel) -> None:
        """Check before training that a model of this kind can read all lines; cheap.

        Raises:
            DataError: one is longer than ``max_source_pieces`` or the model's positions.
        """
        reason = too_long(self._pairs, self._vocabularies, self._search, model.position_limit)
        if reason is not None:
            raise DataError(f"{self._name}: {reason}")

    def check_labels(self) -> None:
        """Check that a classifier can give all labels.

        Raises:
            DataError: it cannot give one.
        """
        for pair in self._pairs:
            if reason := unknown_label(pair.target, self._vocabularies.target):
                raise DataError(f"{self._name}: line {pair.line}: {reason}")

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        """Loss in nats per token, perplexity, and each metric by name."""
        return figures(self.report(model))

    def report(self, model: TranslationModel) -> Report:
        """The same figures, with the signatures of metrics.

        Raises:
            WorkerError: another process failed at its share.
        """
        translator = Translator([model], self._vocabularies, self._search)
        shares = self._shares()
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
        if self._evaluation.metrics:
            report |= self._score(_in_order(shares, [part["hypotheses"] for part in found]))
        return report

    def _shares(self) -> list[list[int]]:
        """Indices of the sentences of each process: equal in number and similar in length."""

        def characters(number: int) -> int:
            source = self.sources[number] if self.sources is not None else ""
            return len(source) + len(self.references[number])

        by_length = sorted(range(len(self.references)), key=characters)
        size = self._world.size
        return [sorted(by_length[rank::size]) for rank in range(size)]

    def _measure(self, translator: Translator, numbers: list[int]) -> dict[str, Any]:
        """Log-probabilities and translations of some sentences."""
        sources = None if self.sources is None else [self.sources[number] for number in numbers]
        references = [self.references[number] for number in numbers]
        found: dict[str, Any] = {"scored": translator.score(sources, references)}
        if self._evaluation.metrics:
            assert sources is not None, "the configuration ensures it"
            found["hypotheses"] = translator.translate(sources)
        return found

    def _score(self, hypotheses: list[str]) -> Report:
        """Metrics of the translations."""
        labels = set(self._evaluation.metrics) <= set(OF_LABELS)  # few differ by their nature
        if self._world.is_leader and not labels and (warning := output_is_constant(hypotheses)):
            log.warning(warning)
        scores = score_corpus(hypotheses, [self.references], self._evaluation)
        return {
            metric: score.to_json()
            for metric, score in zip(self._evaluation.metrics, scores, strict=True)
        }


class MeanValidation:
    """Several dev sets: the mean of each figure, with equal weights, selects the best checkpoint.

    Args:
        sets: by the names of their scores, such as ``dev_en-de``.
    """

    def __init__(self, sets: Mapping[str, Validation]) -> None:
        self._sets = sets

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        """Mean figures by name; with several sets, also those of each, as ``bleu/dev_en-de``."""
        found = {name: validation(model) for name, validation in self._sets.items()}
        means = mean_figures(found)
        if len(found) > 1:
            for name, one in found.items():
                means |= {f"{metric}/{name}": value for metric, value in one.items()}
        return means


def mean_figures(sets: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean of each figure over the sets."""
    first, *others = sets.values()
    if not others:
        return dict(first)
    return {name: fmean(one[name] for one in sets.values()) for name in first}


def _in_order(shares: list[list[int]], found: list[list[Any]]) -> list[Any]:
    """Results of all processes in the order of the sentences."""
    pairs = zip(chain(*shares), chain(*found), strict=True)
    return [one for _, one in sorted(pairs, key=itemgetter(0))]


def too_long(
    pairs: Sequence[Pair], vocabularies: Vocabularies, search: SearchConfig, positions: int | None
) -> str | None:
    """Why the first line that cannot be translated or scored cannot be; None if all can."""
    sources = vocabularies.source.encode_batch([pair.source for pair in pairs])
    targets = vocabularies.target.encode_batch([pair.target for pair in pairs])
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


def write_scores(run: Path, checkpoints: list[str], reports: dict[str, Report]) -> None:
    """Write ``scores.json``: the checkpoints that make up the model, and a report for each set.

    Raises:
        StorageError: the disk refuses.
    """
    write_json(run / SCORES_FILE, {"checkpoints": checkpoints, **reports})


def read_scores(run: Path) -> dict[str, Report]:
    """The reports of a finished run, by set.

    Raises:
        SavedError: the file is missing or damaged.
    """
    path = run / SCORES_FILE
    try:
        scores = dict(read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise SavedError(
            f"{path}: missing or damaged; make it with 'dragoman resume {run}'"
        ) from error
    return {name: report for name, report in scores.items() if isinstance(report, dict)}
