"""Settings of the metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.relocation import TextPath
from dragoman.core.sections import OneName
from dragoman.evaluation.metric_names import metric_names

MetricName = Annotated[str, OneName(metric_names)]
"""The name of a metric."""
BleuTokenizer = Literal["13a", "intl", "char", "zh", "none", "ja-mecab", "ko-mecab"]


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
