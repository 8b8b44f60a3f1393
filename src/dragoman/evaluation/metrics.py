"""Corpus scores by sacrebleu, each with the signature that makes it comparable (Post, 2018).

BLEU is Papineni et al. (2002), chrF Popović (2015), TER Snover et al. (2006); the rate of
translations in the wrong language is :mod:`dragoman.evaluation.languages`, the measures of trees
are :mod:`dragoman.evaluation.tree_metrics`.  sacrebleu is imported only when a score is requested,
so that ``--help`` need not load it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError, DataError, MissingExtraError, install_command
from dragoman.core.relocation import TextPath
from dragoman.evaluation.kept_items import Counter, kept_items_metric
from dragoman.evaluation.label_metrics import label_metric
from dragoman.evaluation.languages import (
    ExpectedLanguage,
    check_identifier,
    wrong_language_metric,
)
from dragoman.evaluation.line_shares import line_share_metric
from dragoman.evaluation.resampling_seed import resampling_seed
from dragoman.evaluation.tag_metrics import tag_metric
from dragoman.evaluation.tree_metrics import TREE_METRICS, tree_metric

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

MetricName = Literal[
    "bleu",
    "chrf",
    "ter",
    "wrong_language",
    "terms",
    "placeholders",
    "numbers",
    "exact_match",
    "degenerate",
    "tag_structure",
    "tag_placement",
    "accuracy",
    "macro_f1",
    "bracketing_f1",
    "bracketing_recall",
    "bracketing_precision",
    "complete_match",
    "tagging_accuracy",
    "malformed_trees",
]
READS_SOURCE = frozenset({"terms", "placeholders", "numbers"})
"""Metrics that compare translations with their sources, whatever the references."""
BleuTokenizer = Literal["13a", "intl", "char", "zh", "none", "ja-mecab", "ko-mecab"]

HIGHER_IS_BETTER: dict[str, bool] = {
    "bleu": True,
    "chrf": True,
    "ter": False,
    "wrong_language": False,
    "terms": True,
    "placeholders": True,
    "numbers": True,
    "exact_match": True,
    "degenerate": False,
    "tag_structure": True,
    "tag_placement": True,
    **dict.fromkeys(TREE_METRICS, True),
    "malformed_trees": False,
    "accuracy": True,
    "macro_f1": True,
    "loss": False,
    "round_trip": True,
}
"""Whether higher is better, for every metric, the loss and the BLEU of round trips."""


OF_LABELS: tuple[MetricName, ...] = ("accuracy", "macro_f1")
"""The metrics of labels instead of text."""


def is_better(metric: str, value: float, other: float, margin: float = 0.0) -> bool:
    """Whether ``value`` is better than ``other`` by more than the share ``margin`` of it.

    Any number is better than NaN, which is better than nothing.
    """
    if math.isnan(other):
        return not math.isnan(value)
    if HIGHER_IS_BETTER[metric]:
        return value > other * (1 + margin)
    return value < other * (1 - margin)


class EvaluationConfig(Config):
    """Which scores to compute, and how to tokenise the text for them."""

    metrics: tuple[MetricName, ...] = ("bleu", "chrf")
    """The scores, in the order in which they are reported; with none, validation translates nothing
    and measures only loss and perplexity."""

    bleu_tokenize: BleuTokenizer = "13a"
    """Tokenizer of BLEU: 13a for raw text, none for text that is already tokenised, zh, ja-mecab
    and ko-mecab for Chinese, Japanese and Korean (the last two need sacrebleu[ja],
    sacrebleu[ko])."""

    lowercase: bool = False
    """Whether BLEU and chrF ignore case. TER always does, as in its paper."""

    chrf_word_order: int = Field(default=0, ge=0, le=4)
    """Maximum length of word n-grams that chrF counts in addition to characters; 2 is chrF++."""

    language: str | None = None
    """Language that translations should be in, for wrong_language. In a run each dev and test set
    has its own, so leave it out."""

    candidate_languages: tuple[str, ...] = ()
    """Languages that wrong_language chooses from. By default all languages that the identifier
    knows; in a run, those of data.train."""

    glossary: TextPath | None = None
    """Glossary for the metric terms, the rate at which translations use the glossary's translation
    of a term in the source."""

    confidence_samples: int = Field(default=0, ge=0, le=100_000)
    """Bootstrap resamples for 95% confidence intervals, such as 1000; 0 disables intervals."""

    def conflicts(self) -> Iterator[str]:
        """A single resample, which has no interval."""
        if self.confidence_samples == 1:
            yield "confidence_samples: one resample has no interval; take more, such as 1000, or 0"


@dataclass(frozen=True)
class SourceSide:
    """What translations are of, for metrics that read it."""

    lines: Sequence[str]
    """One source per translation."""
    counters: Mapping[str, Counter]
    """By metric: of a source and its translation, how many items are kept, of how many."""


@dataclass(frozen=True)
class Confidence:
    """A 95% confidence interval by bootstrap resampling: ``mean`` plus or minus ``margin``."""

    mean: float
    margin: float


@dataclass(frozen=True)
class Score:
    """A corpus score.

    ``value`` is a percentage; ``HIGHER_IS_BETTER`` says which way is better.  ``signature`` is
    sacrebleu's and states everything that must be equal for two scores to be comparable.
    """

    name: str
    value: float
    signature: str
    confidence: Confidence | None = None

    def to_json(self) -> dict[str, Any]:
        """The score as plain values, without a confidence interval if there is none."""
        values: dict[str, Any] = {
            "name": self.name,
            "value": self.value,
            "signature": self.signature,
        }
        if self.confidence is not None:
            values["confidence"] = {
                "mean": self.confidence.mean,
                "margin": self.confidence.margin,
            }
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
        compared = compared_with(name, references, source)
        found = metric.corpus_score(
            hypotheses, compared, n_bootstrap=max(1, config.confidence_samples)
        )
        signature = str(metric.get_signature())
        # The interval is public only in sacrebleu's JSON, which rounds; six places lose nothing.
        # It takes a signature apart at ":" and "|", which the name of a glossary may have.
        details = json.loads(found.format(width=6, is_json=True, signature="nrefs:1"))
        confidence = None
        if config.confidence_samples > 1:  # there, an interval is left out if its mean is zero
            mean, margin = (details.get(f"confidence_{one}", 0.0) for one in ("mean", "var"))
            confidence = Confidence(mean, margin)
        scores.append(Score(found.name, float(found.score), signature, confidence))
    return scores


def sentence_chrf(
    hypotheses: Sequence[str], references: Sequence[str], config: EvaluationConfig | None = None
) -> list[float]:
    """The chrF of each translation, 0 to 100: for inspection, not for reporting.

    Args:
        hypotheses: the translations, one per sentence.
        references: one reference per translation.
        config: settings of chrF.

    Raises:
        DataError: there are no lines, or their numbers differ.
    """
    check_parallel(hypotheses, [references])
    metric = build_metric("chrf", config or EvaluationConfig())
    pairs = zip(hypotheses, references, strict=True)
    return [float(metric.sentence_score(one, [reference]).score) for one, reference in pairs]


def compared_with(
    name: str, references: Sequence[Sequence[str]], source: SourceSide | None
) -> Sequence[Sequence[str]]:
    """What a metric compares translations with: the references, or the sources.

    Raises:
        DataError: there are more or fewer sources than references.
    """
    if name not in READS_SOURCE or source is None:
        return references
    if len(source.lines) != len(references[0]):
        raise DataError(
            f"{len(source.lines)} sources, but {len(references[0])} references; line n of one must "
            "translate line n of the other"
        )
    return [source.lines]


def build_metric(
    name: MetricName, config: EvaluationConfig, source: SourceSide | None = None
) -> Metric:
    """The metric of that name, with sacrebleu's interface.

    Raises:
        ConfigError: wrong_language lacks the language, or its identifier does not know it; or a
            metric lacks sources or glossary.
        MissingExtraError: the tokenizer for Japanese or Korean, or the identifier of languages, is
            not installed.
    """
    if name in TREE_METRICS:
        return tree_metric(name)
    if name == "wrong_language":
        if config.language is None:
            raise ConfigError("wrong_language: name the language that translations should be in")
        return wrong_language_metric(
            ExpectedLanguage.of(config.language, config.candidate_languages)
        )
    if name in READS_SOURCE:
        return _kept_items(name, config, source)
    return _of_lines(name) or _sacrebleu_metric(name, config)


def _of_lines(name: MetricName) -> Metric | None:
    """A metric that compares lines with their references by a rule; None if it is none of these."""
    if name == "exact_match" or name == "degenerate":  # noqa: PLR1714 - mypy narrows it so
        return line_share_metric(name)
    if name == "tag_structure" or name == "tag_placement":  # noqa: PLR1714 - mypy narrows it so
        return tag_metric(name)
    if name == "accuracy" or name == "macro_f1":  # noqa: PLR1714 - mypy narrows it so
        return label_metric(name)
    return None


def _sacrebleu_metric(name: MetricName, config: EvaluationConfig) -> Metric:
    """One of sacrebleu's own.

    Raises:
        MissingExtraError: the tokenizer for Japanese or Korean is not installed.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    from dragoman.evaluation.bounded_ter import BoundedTER

    class PlainCHRF(CHRF):
        def _compute_score_from_stats(self, stats: list[int]) -> Any:
            """With a plain float: resamples have NumPy's or either, whose mean may fail (2.6.0)."""
            found = super()._compute_score_from_stats(stats)
            found.score = float(found.score)
            return found

    if name == "chrf":
        return PlainCHRF(lowercase=config.lowercase, word_order=config.chrf_word_order)
    if name == "ter":
        return BoundedTER()
    tokenize = config.bleu_tokenize
    try:
        # sacrebleu warns about text that looks tokenised unless ``force`` says that it is intended.
        return BLEU(lowercase=config.lowercase, tokenize=tokenize, force=tokenize == "none")
    except (ImportError, RuntimeError) as error:
        raise MissingExtraError(
            f"BLEU with the tokenizer {tokenize}: not installed; "
            f"run {installing(tokenize)} or choose another bleu_tokenize"
        ) from error


def _kept_items(name: str, config: EvaluationConfig, source: SourceSide | None) -> Metric:
    """A metric that compares translations with their sources.

    Raises:
        ConfigError: there are none, or no glossary.
    """
    if source is None:
        raise ConfigError(f"{name}: name the source text that the translations are of")
    if name not in source.counters:
        raise ConfigError(f"{name}: name the glossary whose terms are counted")
    details = {}
    if name == "terms" and config.glossary is not None:
        details["glossary"] = Path(config.glossary).name
    return kept_items_metric(name, source.counters[name], details)


def installing(tokenizer: BleuTokenizer) -> str:
    """The command that installs what a tokenizer for Japanese or Korean needs."""
    return install_command(f"sacrebleu[{tokenizer.partition('-')[0]}]")


def check_installed(config: EvaluationConfig) -> None:
    """Check that all of ``config.metrics`` can be computed here, before they are needed.

    Raises:
        ConfigError: wrong_language does not know ``config.language``.
        MissingExtraError: the tokenizer for Japanese or Korean, or the identifier of languages, is
            not installed.
    """
    for name in config.metrics:
        if name == "wrong_language" and config.language is None:
            check_identifier()
        elif name not in READS_SOURCE:
            build_metric(name, config)


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

    Perplexities are comparable only between models with the same vocabulary.

    Args:
        log_probability: natural logarithm of the probability of all tokens together.
        tokens: number of tokens, including ends of sentences.

    Raises:
        DataError: there are no tokens.
    """
    if tokens < 1:
        raise DataError("perplexity of no tokens: the text to score is empty; give it some lines")
    try:
        return math.exp(-log_probability / tokens)
    except OverflowError:
        return math.inf
