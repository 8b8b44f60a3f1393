"""Accuracy and macro-averaged F1 of labels, with sacrebleu's interface.

So their confidence intervals and tests of significance are those of the other metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric


def label_metric(name: Literal["accuracy", "macro_f1"]) -> Metric:
    """The percentage of right labels, or the mean over labels of F1 in percent.

    F1 of a label is ``2 tp / (2 tp + fp + fn)``; labels that are neither given nor expected do not
    count (Manning, Raghavan and Schütze 2008, "Introduction to Information Retrieval", section
    13.6).  Unlike accuracy, the mean gives a rare label the weight of a frequent one.
    """
    from sacrebleu.metrics.base import Metric, Score, Signature

    class LabelSignature(Signature):
        """What must be equal for two figures to be comparable."""

        def __init__(self, args: dict[str, Any]) -> None:
            super().__init__(args)
            if name == "macro_f1":
                self.update("average", "macro")

    class LabelMetric(Metric):
        """Counts of each label: given rightly, given wrongly, missed.

        A label keeps its place, so that the counts of several systems can be added.
        """

        _SIGNATURE_TYPE = LabelSignature

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]  # sacrebleu's constructor
            self.places: dict[str, int] = {}

        def _preprocess_segment(self, sent: str) -> str:
            return sent.strip()

        def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
            return {"expected": refs}

        def _compute_segment_statistics(
            self, hypothesis: str, ref_kwargs: dict[str, Any]
        ) -> list[Any]:
            return [hypothesis, ref_kwargs["expected"]]

        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            pairs = super()._extract_corpus_statistics(hypotheses, references)
            if name == "accuracy":
                return [[int(given in expected), 1] for given, expected in pairs]
            # Of several references, any will do.
            pairs = [(one, one if one in expected else expected[0]) for one, expected in pairs]
            known = {one for pair in pairs for one in pair}
            for label in sorted(known - self.places.keys()):
                self.places[label] = 3 * len(self.places)
            return [_outcome(given, expected, self.places) for given, expected in pairs]

        def _compute_score_from_stats(self, stats: Sequence[int]) -> Score:
            counts = [int(count) for count in stats]
            if name == "accuracy":
                return Score("accuracy", 100 * counts[0] / counts[1])
            each = [counts[place : place + 3] for place in range(0, len(counts), 3)]
            scores = [2 * tp / (2 * tp + fp + fn) for tp, fp, fn in each if tp or fp or fn]
            return Score("macro-F1", 100 * sum(scores) / len(scores))

        def _aggregate_and_compute(self, stats: list[list[int]]) -> Score:
            return self._compute_score_from_stats(
                [sum(column) for column in zip(*stats, strict=True)]
            )

    return LabelMetric()


def _outcome(given: str, expected: str, places: dict[str, int]) -> list[int]:
    """True positives, false positives and false negatives of each label, one after another."""
    counts = [0] * (3 * len(places))
    if given == expected:
        counts[places[given]] = 1
    else:
        counts[places[given] + 1] = 1
        counts[places[expected] + 2] = 1
    return counts
