"""Scores sentence pairs by models of both directions, here or in several processes.

The score multiplies adequacy and domain, from cross-entropies, and a score of lengths, all in
[0, 1] (Junczys-Dowmunt 2018, arXiv:1809.00197; the score of lengths is ours).  Cross-entropies are
in nats per token, end symbols included, so that long pairs are not at a disadvantage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from dragoman.core.errors import ConfigError
from dragoman.core.processes import WorkerPool
from dragoman.evaluation.languages import CLEAR_MARGIN, ExpectedLanguage
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.corpus_filtering.expected_lengths import ExpectedLengths
from dragoman.text.corpora.cleaning import CleaningConfig, pair_check
from dragoman.text.formats import Pair
from dragoman.text.normalization import normalize
from dragoman.translation.outputs import Unscored
from dragoman.translation.translator import Translator

_AHEAD = 2  # tasks waiting per worker, so that none waits for this process
_DIGITS = 6
_scorer: PairScorer | None = None  # in a worker


@dataclass(frozen=True)
class ScoringModels:
    """The models that score pairs."""

    forward: TranslationSystem
    """Translates sources into targets."""
    reverse: TranslationSystem
    """Translates targets into sources."""
    domain: TranslationSystem | None = None
    """Language model of the wanted domain, in the target language."""
    general: TranslationSystem | None = None
    """Language model of other text; required with ``domain``."""
    languages: tuple[str, str] | None = None
    """Required languages of the two sides; None disables identification."""

    def systems(self) -> dict[str, TranslationSystem]:
        """The models by their roles."""
        named = {
            "forward": self.forward,
            "reverse": self.reverse,
            "domain": self.domain,
            "general": self.general,
        }
        return {name: system for name, system in named.items() if system is not None}


class ScoredPairs(NamedTuple):
    """The rows of some pairs."""

    rows: list[dict[str, Any]]
    """See :class:`PairScorer`."""
    tokens: int
    """Target pieces that models scored for them, of both directions."""


class PairScorer:
    """Opened models that score pairs.

    A row has ``source``, ``target``, ``line``, ``score`` in [0, 1], the cross-entropies ``forward``
    and ``reverse`` (with a domain, also ``domain`` and ``general``) in nats per token, with
    expected lengths ``excess_length``, and ``problem``, which is null or the reason why the pair
    has score 0 and none of these figures.

    Args:
        models: to open.
        lengths: usual lengths; None leaves them out of the score.
    """

    def __init__(self, models: ScoringModels, lengths: ExpectedLengths | None = None) -> None:
        self.lengths = lengths
        self._resources = ExitStack()
        self._translators = {
            name: self._resources.enter_context(Translator.of(system))
            for name, system in models.systems().items()
        }
        for name, translator in self._translators.items():
            _check_task(name, models.systems()[name], translator)
        self._broken = pair_check(CleaningConfig())
        self._expected = (
            None if models.languages is None else tuple(map(ExpectedLanguage.of, models.languages))
        )

    def close(self) -> None:
        """Close the models."""
        self._resources.close()

    @property
    def settings(self) -> dict[str, Any]:
        """Tags and limits, on which scores depend besides the weights."""
        return {
            name: {
                "tags": list(translator.tags),
                "max_source_pieces": translator.search.max_source_pieces,
            }
            for name, translator in self._translators.items()
        }

    def score(self, pairs: Sequence[Pair]) -> ScoredPairs:
        """Score pairs; batches are of similar length."""
        problems = [self._problem(pair) for pair in pairs]
        fit = [number for number, problem in enumerate(problems) if problem is None]
        figures, tokens = self._cross_entropies([pairs[number] for number in fit])
        of_number = dict(zip(fit, figures, strict=True))
        rows = [
            self._row(pair, problem, of_number.get(number, {}))
            for number, (pair, problem) in enumerate(zip(pairs, problems, strict=True))
        ]
        return ScoredPairs(rows, tokens)

    def _problem(self, pair: Pair) -> str | None:
        """The reason why a pair need not be scored, if any."""
        sides = normalize(pair.source), normalize(pair.target)
        if (reason := self._broken(*sides)) is not None:
            return reason
        for text, expected in zip(sides, self._expected or (), strict=False):
            if expected.misses(text, CLEAR_MARGIN):
                return "wrong language"
        return None

    def _cross_entropies(self, pairs: Sequence[Pair]) -> tuple[list[dict[str, float | str]], int]:
        """Cross-entropies of each pair by each model in nats per token, or its ``problem``."""
        figures: list[dict[str, float | str]] = [{} for _ in pairs]
        tokens = 0
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        given: dict[str, tuple[list[str] | None, list[str]]] = {
            "forward": (sources, targets),
            "reverse": (targets, sources),
            "domain": (None, targets),
            "general": (None, targets),
        }
        for name, translator in self._translators.items():
            for of_pair, scored in zip(figures, translator.score_fit(*given[name]), strict=True):
                if isinstance(scored, Unscored):
                    of_pair["problem"] = scored.kind
                    continue
                of_pair[name] = -scored.log_probability / scored.tokens
                tokens += scored.tokens
                if not math.isfinite(scored.log_probability):
                    of_pair["problem"] = "no finite probability"
        return figures, tokens

    def _row(
        self, pair: Pair, problem: str | None, figures: dict[str, float | str]
    ) -> dict[str, Any]:
        problem = problem or (str(figures["problem"]) if "problem" in figures else None)
        known = {name: None if problem else float(figures[name]) for name in self._translators}
        row: dict[str, Any] = {"source": pair.source, "target": pair.target, "line": pair.line}
        score = 0.0
        if self.lengths is not None:
            known["excess_length"] = None
        if problem is None:
            score = adequacy(float(figures["forward"]), float(figures["reverse"]))
            if "domain" in known:
                score *= domain_match(float(figures["domain"]), float(figures["general"]))
            if self.lengths is not None:
                excess = self.lengths.excess(len(pair.source), len(pair.target))
                score *= length_match(excess)
                known["excess_length"] = excess
        row["score"] = float(f"{score:.{_DIGITS}g}")
        for name, figure in known.items():
            row[name] = None if figure is None else round(figure, _DIGITS)
        return {**row, "problem": problem}


def scored_in_order(
    models: ScoringModels, scorer: PairScorer, pieces: Iterable[list[Pair]], workers: int
) -> Iterator[ScoredPairs]:
    """The rows of each piece of a corpus, in order.

    Args:
        models: for workers to open.
        scorer: the same models, opened, if this process is the only worker.
        pieces: read ahead only as far as workers need.
        workers: number of processes, each with one thread if there are several.
    """
    if workers == 1:
        yield from map(scorer.score, pieces)
        return
    pool = WorkerPool(
        workers,
        _begin,
        (models, scorer.lengths),
        work="scores pairs",
        remedy="repeat with fewer workers",
    )
    with closing(pool):
        yield from pool.in_order(_score, pieces, ahead=workers * _AHEAD)


def _check_task(name: str, system: TranslationSystem, translator: Translator) -> None:
    """Check that a model fits its role."""
    path = system.models[0]
    if name in {"domain", "general"} and translator.reads_source:
        raise ConfigError(f"{path}: not a language model, as --domain-lm and --general-lm must be")
    if name in {"forward", "reverse"} and not translator.reads_source:
        raise ConfigError(f"{path}: a language model reads no source; name one that translates")
    if translator.context is not None:
        raise ConfigError(f"{path}: it reads context, and pairs are scored by themselves")


def _begin(models: ScoringModels, lengths: ExpectedLengths | None) -> None:
    """Make this process a worker."""
    global _scorer  # noqa: PLW0603 - what a pool's initializer leaves for its tasks
    torch.set_num_threads(1)
    _scorer = PairScorer(models, lengths)


def _score(pairs: list[Pair]) -> ScoredPairs:
    assert _scorer is not None, "a worker has begun"
    return _scorer.score(pairs)


def adequacy(forward: float, reverse: float) -> float:
    """The dual conditional cross-entropy: 1 if both models are certain, and so agree.

    ``exp(-(|H_A(y|x) - H_B(x|y)| + (H_A(y|x) + H_B(x|y)) / 2))``.  Both models give a pair of
    unrelated sides a high cross-entropy.  If one side has more content, only one model does,
    which the difference penalises.

    Args:
        forward: ``H_A(y|x)``, of the target given the source.
        reverse: ``H_B(x|y)``, of the source given the target.
    """
    return math.exp(-(abs(forward - reverse) + (forward + reverse) / 2))


def domain_match(wanted: float, general: float) -> float:
    """How well a target matches a domain: ``min(exp(H_N(y) - H_I(y)), 1)``.

    This is the cross-entropy difference of Moore and Lewis (2010, "Intelligent selection of
    language model training data"), capped at 1.

    Args:
        wanted: ``H_I(y)`` by the language model of the domain.
        general: ``H_N(y)`` by that of other text.
    """
    return math.exp(min(general - wanted, 0.0))


def length_match(excess: float) -> float:
    """How usual the length of a target is: ``exp(-z^2 / 4)``.

    This is the square root of the normal density, relative to its maximum.

    Args:
        excess: z, the deviation from the expected length in standard deviations.
    """
    return math.exp(-(excess**2) / 4)
