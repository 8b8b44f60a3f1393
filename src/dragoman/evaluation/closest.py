"""Which of several translations is most similar to a reference.

Training a student on that one is Kim & Rush's sequence-level interpolation (2016,
arXiv:1606.07947, section 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.evaluation.similarity import PairwiseSimilarity, Similarity


class Closest:
    """Chooses by sentence BLEU or chrF; see :class:`PairwiseSimilarity`.

    Args:
        metric: the measure of similarity.
        config: settings of the metric, such as the tokenizer of BLEU.

    Raises:
        MissingExtraError: the tokenizer for Japanese or Korean is not installed.
    """

    def __init__(self, metric: Similarity, config: EvaluationConfig | None = None) -> None:
        self._similarity = PairwiseSimilarity(metric, config)

    def __call__(self, hypotheses: Sequence[str], reference: str) -> int:
        """The place of the hypothesis that is most similar; of equals, the first."""
        return int(self._similarity(hypotheses, [reference])[:, 0].argmax())
