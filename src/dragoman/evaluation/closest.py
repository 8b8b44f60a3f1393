"""Which of several translations is most similar to a reference.

Training a student on that one is Kim & Rush's sequence-level interpolation (2016,
arXiv:1606.07947, section 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dragoman.evaluation.metrics import EvaluationConfig, build_metric

Similarity = Literal["bleu", "chrf"]


class Closest:
    """Chooses by sentence BLEU or chrF.

    Sentence BLEU is smoothed and counts only orders of n-grams that a sentence has; without that,
    most short sentences would have a BLEU of 0.

    Args:
        metric: the measure of similarity.
        config: settings of the metric, such as the tokenizer of BLEU.

    Raises:
        MissingExtraError: the tokenizer for Japanese or Korean is not installed.
    """

    def __init__(self, metric: Similarity, config: EvaluationConfig | None = None) -> None:
        self._metric = build_metric(metric, config or EvaluationConfig())
        if metric == "bleu":
            self._metric.effective_order = True  # type: ignore[attr-defined]  # BLEU alone has it

    def __call__(self, hypotheses: Sequence[str], reference: str) -> int:
        """The place of the hypothesis that is most similar; of equals, the first."""
        scores = [self._metric.sentence_score(one, [reference]).score for one in hypotheses]
        return max(range(len(scores)), key=lambda place: scores[place])
