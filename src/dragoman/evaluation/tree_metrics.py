"""The measures of :mod:`dragoman.evaluation.bracketing` as corpus metrics.

They have sacrebleu's interface, so that confidence intervals and tests of significance are those of
the other metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dragoman.core.constituency import TreeError
from dragoman.core.errors import DataError
from dragoman.evaluation.bracketing import COLLINS, compare_with, read_reference

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

TreeMetricName = Literal[
    "bracketing_f1",
    "bracketing_recall",
    "bracketing_precision",
    "complete_match",
    "tagging_accuracy",
    "malformed_trees",
]

_Counts = dict[str, float]
_COUNTS = ("gold", "test", "matched", "words", "tags", "complete", "malformed", "sentences")


def _rate(part: Callable[[_Counts], float], whole: Callable[[_Counts], float]) -> Any:
    def rate(counts: _Counts) -> float:
        total = whole(counts)
        return 100 * part(counts) / total if total else 0.0

    return rate


_RATES: dict[TreeMetricName, Callable[[_Counts], float]] = {
    "bracketing_f1": _rate(lambda c: 2 * c["matched"], lambda c: c["gold"] + c["test"]),
    "bracketing_recall": _rate(lambda c: c["matched"], lambda c: c["gold"]),
    "bracketing_precision": _rate(lambda c: c["matched"], lambda c: c["test"]),
    "complete_match": _rate(lambda c: c["complete"], lambda c: c["sentences"]),
    "tagging_accuracy": _rate(lambda c: c["tags"], lambda c: c["words"]),
    "malformed_trees": _rate(lambda c: c["malformed"], lambda c: c["sentences"]),
}
TREE_METRICS = tuple(_RATES)


def tree_metric(name: TreeMetricName) -> Metric:
    """A metric of trees, in brackets or as sequences of symbols; each has one reference.

    Its value is a percentage over all sentences: those without a well-formed tree count as trees
    without constituents.  What is blank on both sides is no sentence.

    Raises:
        DataError: on scoring: a reference is no tree, or there are several for a sentence.
    """
    from sacrebleu.metrics.base import Metric, Score, Signature

    class TreeSignature(Signature):
        """What must be equal for two scores to be comparable."""

        def __init__(self, args: dict[str, Any]) -> None:
            super().__init__(args)
            self.update("parameters", COLLINS.name)

    def no_tree(error: TreeError, reference: str) -> DataError:
        return DataError(
            f"{name}: a reference is no tree ({error}): {reference[:60]!r}; score text by another "
            "metric"
        )

    class TreeMetric(Metric):
        """Counts constituents, words and sentences."""

        _SIGNATURE_TYPE = TreeSignature

        def _preprocess_segment(self, sent: str) -> str:
            return sent

        def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
            if len(refs) != 1:
                raise DataError(f"{name}: a tree is scored against one reference, not {len(refs)}")
            try:
                return {"gold": read_reference(refs[0]), "reference": refs[0]}
            except TreeError as error:
                raise no_tree(error, refs[0]) from error

        def _compute_segment_statistics(
            self, hypothesis: str, ref_kwargs: dict[str, Any]
        ) -> list[int]:
            gold = ref_kwargs["gold"]
            try:
                one = compare_with(hypothesis, gold)
            except TreeError as error:
                raise no_tree(error, ref_kwargs["reference"]) from error
            if gold is None:
                return [0] * len(_COUNTS)
            counts = (one.gold, one.test, one.matched, one.words, one.tags)
            return [*counts, int(one.complete), int(one.status != "valid"), 1]

        def _compute_score_from_stats(self, stats: Sequence[float]) -> Score:
            counts = dict(zip(_COUNTS, map(float, stats), strict=True))
            return Score(name.replace("_", " "), _RATES[name](counts))

        def _aggregate_and_compute(self, stats: list[list[int]]) -> Score:
            return self._compute_score_from_stats(
                [sum(column) for column in zip(*stats, strict=True)]
            )

    return TreeMetric()  # type: ignore[no-untyped-call]  # sacrebleu's constructor
