"""Metrics of what a translation owes its source: terms of a glossary, placeholders, numbers.

They read sources instead of references: these go where sacrebleu's interface has references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Counter = Callable[[str, str], tuple[int, int]]
"""Of a source and its translation: how many items are kept, of how many."""


def kept_items_metric(
    name: str,
    count: Counter,
    details: dict[str, str],
) -> Metric:
    """The percentage of what sources hold that is in their translations.

    It has sacrebleu's interface, with sources in the place of references.

    Args:
        name: of the score.
        count: of a source and its translation: how many items are kept, of how many.
        details: what must be equal for two scores to be comparable, for the signature.
    """
    from sacrebleu.metrics.base import Metric, Score, Signature

    class KeptSignature(Signature):
        """What must be equal for two rates to be comparable."""

        def __init__(self, args: dict[str, Any]) -> None:
            super().__init__(args)
            self.info["nrefs"] = None  # it reads none
            for key, value in details.items():
                self.update(key, value)

    class KeptItems(Metric):
        """Counts items that are kept, and all."""

        _SIGNATURE_TYPE = KeptSignature

        def _preprocess_segment(self, sent: str) -> str:
            return sent

        def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
            return {"source": refs[0]}

        def _compute_segment_statistics(
            self, hypothesis: str, ref_kwargs: dict[str, Any]
        ) -> list[int]:
            return list(count(ref_kwargs["source"], hypothesis))

        def _compute_score_from_stats(self, stats: Sequence[int]) -> Score:
            found, wanted = map(int, stats)
            return Score(name, 100 * found / wanted if wanted else 100.0)

        def _aggregate_and_compute(self, stats: list[list[int]]) -> Score:
            return self._compute_score_from_stats(
                [sum(column) for column in zip(*stats, strict=True)]
            )

    return KeptItems()  # type: ignore[no-untyped-call]  # sacrebleu's constructor
