"""Accuracy and macro-averaged F1 of labels."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from dragoman.evaluation.metric import EvaluationConfig, SourceSide, Statistics, SummedMetric


class Accuracy(SummedMetric):
    """The percentage of right labels; of several references, any will do."""

    name, title, label, progress = "accuracy", "accuracy", "accuracy (%)", "accuracy {:.2f} %"
    output = "labels"

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        return [[int(given in expected), 1] for given, *expected in _labels(hypotheses, references)]

    @override
    def value(self, sums: Sequence[float]) -> float:
        right, total = map(int, sums)
        return 100 * right / total


class MacroF1(SummedMetric):
    """The mean over labels of F1, ``2 tp / (2 tp + fp + fn)``, in percent.

    Labels that are neither given nor expected do not count (Manning, Raghavan and Schütze 2008,
    "Introduction to Information Retrieval", section 13.6).  Unlike accuracy, the mean gives a rare
    label the weight of a frequent one.  The statistics are true positives, false positives and
    false negatives of each label, which keeps its columns, so that the counts of several systems
    can be added.
    """

    name, title, label, progress = "macro_f1", "macro-F1", "macro-F1 (%)", "macro-F1 {:.2f} %"
    output = "labels"

    def __init__(self, config: EvaluationConfig, source: SourceSide | None = None) -> None:
        super().__init__(config, source)
        self._columns: dict[str, int] = {}

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        pairs = [
            (given, given if given in expected else expected[0])
            for given, *expected in _labels(hypotheses, references)
        ]
        known = {label for pair in pairs for label in pair}
        for label in sorted(known - self._columns.keys()):
            self._columns[label] = 3 * len(self._columns)
        return [self._outcome(given, expected) for given, expected in pairs]

    @override
    def value(self, sums: Sequence[float]) -> float:
        counts = [int(count) for count in sums]
        each = [counts[column : column + 3] for column in range(0, len(counts), 3)]
        scores = [2 * tp / (2 * tp + fp + fn) for tp, fp, fn in each if tp or fp or fn]
        return 100 * sum(scores) / len(scores)

    @override
    def details(self, references: int) -> dict[str, str]:
        return {"average": "macro"}

    def _outcome(self, given: str, expected: str) -> list[int]:
        counts = [0] * (3 * len(self._columns))
        if given == expected:
            counts[self._columns[given]] = 1
        else:
            counts[self._columns[given] + 1] = 1
            counts[self._columns[expected] + 2] = 1
        return counts


def _labels(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    """The given and the expected labels of each line, without space around them."""
    return [tuple(map(str.strip, line)) for line in zip(hypotheses, *references, strict=True)]
