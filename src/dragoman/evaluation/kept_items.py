"""Metrics of what a translation owes its source: terms of a glossary, placeholders, numbers.

They read sources instead of references: these go where sacrebleu's interface has references.
Metrics that count lines or tags by a rule compare with references in the same way.
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
    *,
    best: Callable[..., tuple[int, int]] = max,
) -> Metric:
    """The percentage of what sources hold that is in their translations.

    It has sacrebleu's interface, with sources in the place of references.  Of several references
    for a translation, that with the best share counts.

    Args:
        name: of the score.
        count: of a source and its translation: how many items are kept, of how many.
        details: what must be equal for two scores to be comparable, for the signature.
        best: ``min`` if a low share is the better one.
    """
    from sacrebleu.metrics.base import Metric, Score, Signature

    def share(counted: tuple[int, int]) -> float:
        kept, of = counted
        return kept / of if of else 1.0

    class KeptSignature(Signature):
        """What must be equal for two rates to be comparable."""

        def __init__(self, args: dict[str, Any]) -> None:
            super().__init__(args)
            if args["num_refs"] == 1:
                self.info["nrefs"] = None  # it may be a source
            for key, value in details.items():
                self.update(key, value)

    class KeptItems(Metric):
        """Counts items that are kept, and all."""

        _SIGNATURE_TYPE = KeptSignature

        def _preprocess_segment(self, sent: str) -> str:
            return sent

        def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
            return {"sources": refs}

        def _compute_segment_statistics(
            self, hypothesis: str, ref_kwargs: dict[str, Any]
        ) -> list[int]:
            counts = [count(one, hypothesis) for one in ref_kwargs["sources"]]
            return list(best(counts, key=share))

        def _compute_score_from_stats(self, stats: Sequence[int]) -> Score:
            found, wanted = map(int, stats)
            return Score(name, 100 * found / wanted if wanted else 100.0)

        def _aggregate_and_compute(self, stats: list[list[int]]) -> Score:
            return self._compute_score_from_stats(
                [sum(column) for column in zip(*stats, strict=True)]
            )

    return KeptItems()  # type: ignore[no-untyped-call]  # sacrebleu's constructor
