"""Scores of a corpus, each with the signature that makes it comparable (Post 2018).

sacrebleu is imported only when a score is requested, so that ``--help`` need not load it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import ConfigError, DataError
from dragoman.evaluation.metric import (
    BleuTokenizer,
    EvaluationConfig,
    Metric,
    MetricName,
    Output,
    SourceSide,
)
from dragoman.evaluation.metric_commands import metric_commands
from dragoman.evaluation.metric_names import BUILT_IN, GROUP, METRICS

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacrebleuMetric

__all__ = [
    "BleuTokenizer",
    "Confidence",
    "EvaluationConfig",
    "MetricName",
    "Score",
    "SourceSide",
    "build_metric",
    "check_installed",
    "check_parallel",
    "check_references",
    "exact_match",
    "higher_is_better",
    "is_better",
    "metric_named",
    "metrics_of",
    "perplexity",
    "score_corpus",
    "sentence_chrf",
]

SEED = 12345
"""Sacrebleu's seed of intervals and tests that draw at random."""
_SETTING = "SACREBLEU_SEED"
_HIGHER_IS_BETTER = {"loss": False, "round_trip": True}  # of figures that are not metrics


def metric_named(name: str) -> type[Metric]:
    """The class of a metric.

    Raises:
        ConfigError: there is none, or the package that adds it is broken.
    """
    program = None if name in BUILT_IN else metric_commands().get(name)
    if program is not None and name not in METRICS.added():
        from dragoman.evaluation.program_metric import program_metric

        return program_metric(name, program)
    found = METRICS.find(name)
    if missing := [one for one in ("title", "label") if not hasattr(found, one)]:
        raise ConfigError(f"{GROUP}: {name}: its class has no {missing[0]}; correct the package")
    return found


def metrics_of(output: Output, metrics: Iterable[str]) -> list[str]:
    """Those of ``metrics`` that score this kind of output."""
    return [
        name
        for name in metrics
        if name not in _HIGHER_IS_BETTER and metric_named(name).output == output
    ]


def higher_is_better(figure: str) -> bool:
    """Whether higher is better, for a metric, the loss or the BLEU of round trips."""
    if figure in _HIGHER_IS_BETTER:
        return _HIGHER_IS_BETTER[figure]
    return metric_named(figure).higher_is_better


def is_better(metric: str, value: float, other: float, margin: float = 0.0) -> bool:
    """Whether ``value`` is better than ``other`` by more than the share ``margin`` of it.

    Any number is better than NaN, which is better than nothing.
    """
    if math.isnan(other):
        return not math.isnan(value)
    if higher_is_better(metric):
        return value > other * (1 + margin)
    return value < other * (1 - margin)


@dataclass(frozen=True)
class Confidence:
    """A 95% confidence interval by bootstrap resampling: ``mean`` plus or minus ``margin``."""

    mean: float
    margin: float


@dataclass(frozen=True)
class Score:
    """A corpus score.

    ``value`` is a percentage; :func:`higher_is_better` says which way is better.  ``signature`` is
    sacrebleu's and states everything that must be equal for two scores to be comparable.
    """

    name: str
    value: float
    signature: str
    confidence: Confidence | None = None

    def to_json(self) -> dict[str, Any]:
        """The score as plain values, without a confidence interval if there is none."""
        values = asdict(self)
        if self.confidence is None:
            del values["confidence"]
        return values

    def __str__(self) -> str:
        interval = ""
        if self.confidence is not None:
            interval = f" (μ = {self.confidence.mean:.2f} ± {self.confidence.margin:.2f})"
        return f"{self.name} = {self.value:.2f}{interval} [{self.signature}]"


def score_corpus(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    config: EvaluationConfig | None = None,
    source: SourceSide | None = None,
) -> list[Score]:
    """Score translations against one or more sets of references.

    Args:
        hypotheses: the translations, one per sentence.
        references: sets of reference translations, each as long as ``hypotheses``.
        config: the scores to compute; by default, BLEU and chrF.
        source: what the translations are of; needed for terms, placeholders and numbers.

    Returns:
        A score for each of ``config.metrics``, in their order.

    Raises:
        DataError: there are no hypotheses or references, or their numbers differ.
        ConfigError: wrong_language lacks the language, or its identifier does not know it; a
            metric lacks sources or glossary; or intervals are wanted and SACREBLEU_SEED is no seed.
        MissingExtraError: the tokenizer for Japanese or Korean, or the identifier of languages, is
            not installed.
    """
    config = config or EvaluationConfig()
    check_parallel(hypotheses, references)
    if config.confidence_samples:
        resampling_seed()  # sacrebleu's own error for a wrong one names no variable
    scores = []
    for name in config.metrics:
        metric = build_metric(name, config, source)
        scored = metric.corpus_score(
            hypotheses, references, n_bootstrap=max(1, config.confidence_samples)
        )
        signature = str(metric.get_signature())
        # The interval is public only in sacrebleu's JSON, which rounds; six places lose nothing.
        # It takes a signature apart at ":" and "|", which the name of a glossary may have.
        details = json.loads(scored.format(width=6, is_json=True, signature="nrefs:1"))
        confidence = None
        if config.confidence_samples > 1:  # there, an interval is left out if its mean is zero
            mean, margin = (details.get(f"confidence_{key}", 0.0) for key in ("mean", "var"))
            confidence = Confidence(mean, margin)
        scores.append(Score(scored.name, float(scored.score), signature, confidence))
    return scores


def resampling_seed() -> int | None:
    """The seed with which sacrebleu draws resamples and trials; None if it draws others each time.

    Raises:
        ConfigError: SACREBLEU_SEED is no seed.
    """
    given = os.environ.get(_SETTING, str(SEED))
    if given.lower() == "none":
        return None
    try:
        seed = int(given)
    except ValueError:
        seed = -1
    if seed < 0:
        raise ConfigError(
            f"{_SETTING}={given!r:.80}: expected a whole number from 0, or none for other draws "
            "each time; change the environment variable, or unset it"
        )
    return seed


def sentence_chrf(
    hypotheses: Sequence[str], references: Sequence[str], config: EvaluationConfig | None = None
) -> list[float]:
    """The chrF of each translation, 0 to 100: for inspection, not for reporting.

    Raises:
        DataError: there are no lines, or their numbers differ.
    """
    check_parallel(hypotheses, [references])
    metric = build_metric("chrf", config or EvaluationConfig())
    pairs = zip(hypotheses, references, strict=True)
    return [float(metric.sentence_score(one, [reference]).score) for one, reference in pairs]


def build_metric(
    name: str, config: EvaluationConfig, source: SourceSide | None = None
) -> SacrebleuMetric:
    """The metric of that name, with sacrebleu's interface.

    Raises:
        ConfigError: there is none, or it lacks sources or a setting.
        MissingExtraError: a package or program that it needs is missing.
    """
    return metric_named(name)(config, source).sacrebleu()


def check_references(
    references: Sequence[str], config: EvaluationConfig, source: SourceSide | None = None
) -> None:
    """Check that any translations can be scored against these references, one for each sentence.

    Raises:
        DataError: trees are scored, and a reference is no tree.
        ConfigError: a metric lacks something; or intervals are wanted and SACREBLEU_SEED is no
            seed.
        MissingExtraError: a package that a metric needs is not installed.
    """
    if config.confidence_samples:
        resampling_seed()
    metrics = [metric_named(name)(config, source) for name in config.metrics]
    for metric in metrics:
        metric.sacrebleu()
    for metric in metrics:
        metric.check_references(references)


def check_installed(config: EvaluationConfig) -> None:
    """Check that all of ``config.metrics`` can be computed here, before they are needed.

    Raises:
        ConfigError: wrong_language does not know ``config.language``.
        MissingExtraError: a package or program is missing.
    """
    for name in config.metrics:
        metric_named(name).check(config)


def check_parallel(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], name: str = "hypotheses"
) -> None:
    """Check that sentences can be compared one by one.

    Raises:
        DataError: ``hypotheses`` (called ``name``) or references are missing, or their numbers
            differ.
    """
    if isinstance(hypotheses, str) or any(isinstance(lines, str) for lines in references):
        raise DataError(
            f"{name} and every set of references are lists of lines; a single text was found: "
            "put it into a list"
        )
    if not references:
        raise DataError("no references to score against; give at least one set")
    if not hypotheses:
        raise DataError(f"{name}: no lines, so there is nothing to score")
    for number, lines in enumerate(references, start=1):
        if len(lines) != len(hypotheses):
            raise DataError(
                f"{name}: {len(hypotheses)} lines, but reference {number} has {len(lines)}; "
                "line n of one must translate line n of the other"
            )


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The percentage of translations that equal their reference to the letter.

    Raises:
        DataError: there are no lines, or their numbers differ.
    """
    check_parallel(hypotheses, [references])
    equal = sum(h == r for h, r in zip(hypotheses, references, strict=True))
    return 100 * equal / len(hypotheses)


def perplexity(log_probability: float, tokens: int) -> float:
    """``exp(-log_probability / tokens)``: how many equally likely tokens a model hesitates between.

    Perplexities are comparable only between models with the same vocabulary.  ``log_probability``
    is the natural logarithm of the probability of all tokens together, ends of sentences included.

    Raises:
        DataError: there are no tokens.
    """
    if tokens < 1:
        raise DataError("perplexity of no tokens: the text to score is empty; give it some lines")
    try:
        return math.exp(-log_probability / tokens)
    except OverflowError:
        return math.inf
