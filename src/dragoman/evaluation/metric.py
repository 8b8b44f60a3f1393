"""The interface of metrics, from texts to statistics and a score, and the settings of metrics.

Most metrics reduce each sentence to a few numbers, and compute their value from sums of these.
Confidence intervals and tests of significance are sacrebleu's for every metric: they draw sentences
and sum again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError, DataError
from dragoman.core.relocation import TextPath
from dragoman.core.sections import OneName
from dragoman.evaluation.metric_names import BUILT_IN, metric_names

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacrebleuMetric

MetricName = Annotated[str, OneName(metric_names, frozenset(BUILT_IN))]
"""The name of a metric."""
BleuTokenizer = Literal[
    "13a",
    "intl",
    "char",
    "zh",
    "none",
    "ja-mecab",
    "ko-mecab",
    "flores101",
    "flores200",
    "spBLEU-1K",
]
"""The tokenizers of sacrebleu."""
Counter = Callable[[str, str], tuple[int, int]]
"""Of a source and its translation: how many items are kept, of how many."""
Output = Literal["text", "labels", "trees"]
"""Kinds of output that are scored."""
Statistics = Sequence[Sequence[float]]
"""Numbers of each sentence, which are summed over sentences."""


class EvaluationConfig(Config):
    """Which scores to compute, and how to tokenise the text for them."""

    metrics: tuple[MetricName, ...] = ("bleu", "chrf")
    """Scores, in the order of reports; with none, validation translates nothing and measures only
    loss and perplexity."""

    bleu_tokenize: BleuTokenizer = "13a"
    """Tokenizer of BLEU: 13a for raw text, none for tokenised text, zh, ja-mecab and ko-mecab for
    Chinese, Japanese and Korean (the last two need sacrebleu[ja], sacrebleu[ko]). flores200,
    flores101 and spBLEU-1K split text of many languages into pieces (spBLEU); their model is
    downloaded at its first use."""

    lowercase: bool = False
    """Whether BLEU and chrF ignore case. TER always does, as in its paper."""

    chrf_word_order: int = Field(default=0, ge=0, le=4)
    """Maximum length of word n-grams in chrF, besides characters; 2 is chrF++."""

    language: str | None = None
    """Language that translations should be in, for wrong_language. Not needed in a run, where each
    dev and test set has its own."""

    candidate_languages: tuple[str, ...] = ()
    """Languages that wrong_language chooses among; by default all that the identifier knows, in a
    run those of data.train."""

    glossary: TextPath | None = None
    """Glossary for the metric terms: how often a term of the source has its translation."""

    confidence_samples: int = Field(default=0, ge=0, le=100_000)
    """Bootstrap resamples for 95% confidence intervals, such as 1000; 0 disables intervals."""

    def conflicts(self) -> Iterator[str]:
        """A single resample, which has no interval."""
        if self.confidence_samples == 1:
            yield "confidence_samples: one resample has no interval; take more, such as 1000, or 0"


@dataclass(frozen=True)
class SourceSide:
    """The sources of translations, for metrics that read them."""

    lines: Sequence[str]
    """One source per translation."""
    counters: Mapping[str, Counter] = field(default_factory=dict)
    """By metric: of a source and its translation, how many items are kept, of how many."""


class Metric(ABC):
    """A score of translations.

    Args:
        config: settings of all metrics.
        source: the sources; needed if it :attr:`reads_source`.

    Raises:
        ConfigError: it lacks sources or a setting.
    """

    name: ClassVar[str]
    """Its name in settings and records."""
    title: ClassVar[str]
    """Its name beside scores, such as ``BLEU``."""
    label: ClassVar[str]
    """Its name in reports, with the unit, such as ``terms, %``."""
    progress: ClassVar[str] = ""
    """Format of a value in training's progress; by default, its name and four digits."""
    higher_is_better: ClassVar[bool] = True
    output: ClassVar[Output] = "text"
    """Kind of output that it scores."""
    reads_source: ClassVar[bool] = False
    """Whether it needs the sources."""

    def __init__(self, config: EvaluationConfig, source: SourceSide | None = None) -> None:
        if self.reads_source and source is None:
            raise ConfigError(f"{self.name}: name the source text that the translations are of")
        self.config, self.source = config, source

    @classmethod
    def check(cls, config: EvaluationConfig) -> None:
        """Check, before there is any text, that everything it needs is installed.

        Raises:
            ConfigError: a setting is wrong.
            MissingExtraError: a package or program is missing.
        """
        if not cls.reads_source:
            cls(config).sacrebleu()

    def check_references(self, references: Sequence[str]) -> None:  # noqa: B027 - any text will do
        """Check that translations can be scored against these, one for each sentence.

        Raises:
            DataError: a reference is of the wrong kind.
        """

    @abstractmethod
    def sacrebleu(self) -> SacrebleuMetric:
        """This metric with sacrebleu's interface.

        Raises:
            MissingExtraError: a package or program is missing.
        """


class SummedMetric(Metric):
    """A metric of our own or of another package: statistics of each sentence, and their sums."""

    @abstractmethod
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        """The numbers of each sentence.

        Args:
            hypotheses: the translations; sentence n translates line n of ``source.lines``.
            references: sets of references, each as long as ``hypotheses``.

        Raises:
            DataError: it cannot score these lines.
        """

    @abstractmethod
    def value(self, sums: Sequence[float]) -> float:
        """The value, usually a percentage, from the sums of the numbers over sentences."""

    def details(self, references: int) -> dict[str, Any]:
        """Entries of the signature: everything that must be equal for two scores to be comparable.

        Args:
            references: number of sets of references, which stands under ``nrefs``; set this to
                None for a metric that reads none.
        """
        return {}

    @override
    def sacrebleu(self) -> SacrebleuMetric:
        from sacrebleu.metrics.base import Metric as Base
        from sacrebleu.metrics.base import Score, Signature

        class OwnSignature(Signature):
            """sacrebleu's, with the details of the metric."""

            def __init__(self, args: dict[str, Any]) -> None:
                super().__init__(args)
                self.info.update(metric.details(args["num_refs"]))

        class Adapted(Base):
            """A corpus goes to the metric as a whole; sacrebleu would take it apart."""

            _SIGNATURE_TYPE = OwnSignature

            def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
                self.num_refs = len(references)
                metric._check_sources(len(references[0]))
                return metric.statistics(hypotheses, references)

            def _compute_score_from_stats(self, stats: Sequence[float]) -> Score:
                return Score(metric.title, metric.value(stats))

            def _aggregate_and_compute(self, stats: list[list[float]]) -> Score:
                return self._compute_score_from_stats(
                    [sum(column) for column in zip(*stats, strict=True)]
                )

            def _preprocess_segment(self, sent: str) -> str:
                return sent

            # sacrebleu's corpus statistics alone call these, and they are replaced above.
            def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
                raise NotImplementedError

            def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: Any) -> list[Any]:
                raise NotImplementedError

        metric = self
        return Adapted()  # type: ignore[no-untyped-call]  # sacrebleu's constructor

    def _check_sources(self, references: int) -> None:
        if self.source is not None and self.reads_source and len(self.source.lines) != references:
            raise DataError(
                f"{len(self.source.lines)} sources, but {references} references; line n of one "
                "must translate line n of the other"
            )
