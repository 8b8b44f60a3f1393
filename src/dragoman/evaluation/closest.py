"""Choosing the translation that is most similar to a reference.

Training a student on it is Kim & Rush's sequence-level interpolation (2016,
arXiv:1606.07947, section 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.evaluation.similarity import PairwiseSimilarity, Similarity


class Closest:
    """Chooses by sentence BLEU or chrF.

    Args:
        metric: the measure of similarity.
        config: settings of the metric, such as the tokenizer of BLEU.

    Raises:
        MissingExtraError: the tokenizer for Japanese or Korean is not installed.
    """

    def __init__(self, metric: Similarity, config: EvaluationConfig | None = None) -> None:
        config = config or EvaluationConfig()
        self._similarity = PairwiseSimilarity(metric, config)
        settings = []
        if metric == "bleu" and config.bleu_tokenize != "13a":
            settings.append(f"tokenize {config.bleu_tokenize}")
        if config.lowercase:
            settings.append("lowercase")
        if metric == "chrf" and config.chrf_word_order:
            settings.append(f"word order {config.chrf_word_order}")
        self.name = f"{metric} ({', '.join(settings)})" if settings else str(metric)
        """The measure, with its settings where they are not the usual ones."""

    def __call__(self, hypotheses: Sequence[str], reference: str) -> int:
        """The place of the hypothesis that is most similar; of equals, the first."""
        return int(self._similarity(hypotheses, [reference])[:, 0].argmax())
