"""The measures of :mod:`dragoman.evaluation.bracketing` as metrics of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from typing_extensions import override

from dragoman.core.constituency import TreeError
from dragoman.core.errors import DataError
from dragoman.evaluation.bracketing import COLLINS, compare_with, read_reference
from dragoman.evaluation.metric import Statistics, SummedMetric

_COUNTS = ("gold", "test", "matched", "words", "tags", "complete", "malformed", "sentences")


class TreeMetric(SummedMetric):
    """A metric of trees, in brackets or as sequences of symbols, with one reference each.

    Its value is a percentage over all sentences: those without a well-formed tree count as trees
    without constituents.  What is blank on both sides is no sentence.  The statistics are numbers
    of constituents, words and sentences.
    """

    output = "trees"
    part: ClassVar[str]
    """The count in the numerator."""
    whole: ClassVar[tuple[str, ...]]
    """The counts in the denominator; the mean of several."""

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        if len(references) != 1:
            raise DataError(
                f"{self.name}: a tree is scored against one reference, not {len(references)}"
            )
        return [
            self._counts(hypothesis, reference)
            for hypothesis, reference in zip(hypotheses, references[0], strict=True)
        ]

    @override
    def value(self, sums: Sequence[float]) -> float:
        counts = dict(zip(_COUNTS, map(float, sums), strict=True))
        total = sum(counts[name] for name in self.whole)
        return 100 * (len(self.whole) * counts[self.part]) / total if total else 0.0

    @override
    def details(self, references: int) -> dict[str, Any]:
        return {"parameters": COLLINS.name}

    def _counts(self, hypothesis: str, reference: str) -> list[int]:
        try:
            gold = read_reference(reference)
            one = compare_with(hypothesis, gold)
        except TreeError as error:
            raise DataError(
                f"{self.name}: a reference is no tree ({error}): {reference[:60]!r}; score text "
                "by another metric"
            ) from error
        if gold is None:
            return [0] * len(_COUNTS)
        counts = (one.gold, one.test, one.matched, one.words, one.tags)
        return [*counts, int(one.complete), int(one.status != "valid"), 1]


class BracketingF1(TreeMetric):
    """F1 of constituents."""

    name, title, label = "bracketing_f1", "bracketing f1", "bracketing F1"
    progress = "bracketing F1 {:.2f}"
    part, whole = "matched", ("gold", "test")


class BracketingRecall(TreeMetric):
    """Recall of constituents."""

    name, title, label = "bracketing_recall", "bracketing recall", "bracketing recall"
    part, whole = "matched", ("gold",)


class BracketingPrecision(TreeMetric):
    """Precision of constituents."""

    name, title, label = "bracketing_precision", "bracketing precision", "bracketing precision"
    part, whole = "matched", ("test",)


class CompleteMatch(TreeMetric):
    """Sentences with all the constituents of the reference, and no others."""

    name, title, label = "complete_match", "complete match", "complete match, %"
    part, whole = "complete", ("sentences",)


class TaggingAccuracy(TreeMetric):
    """Words with the right part of speech."""

    name, title, label = "tagging_accuracy", "tagging accuracy", "tagging accuracy, %"
    part, whole = "tags", ("words",)


class MalformedTrees(TreeMetric):
    """Sentences without a well-formed tree."""

    name, title, label = "malformed_trees", "malformed trees", "malformed trees, %"
    progress = "malformed {:.2f} %"
    higher_is_better = False
    part, whole = "malformed", ("sentences",)
