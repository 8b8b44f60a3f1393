"""Selection of scored pairs by a threshold, and a report on the dropped pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import ConfigError, DataError
from dragoman.techniques.corpus_filtering.scored_corpus import ScoredCorpus

LOW_SCORE = "low score"
"""The reason for dropping pairs that models could score."""
_EXAMPLES = 5


@dataclass(frozen=True)
class Threshold:
    """The pairs to keep: a share of all pairs, or those above a score."""

    keep: float | None = None
    """Share of the pairs to keep, those with the highest scores."""
    above: float | None = None
    """Score that kept pairs exceed."""

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.above is None):
            raise ConfigError("name either the share to keep or the score to be above")


@dataclass(frozen=True)
class FilterReport:
    """Figures on the selection of a corpus."""

    read: int
    kept: int
    dropped: dict[str, int]
    """Dropped pairs, by reason, the most frequent first."""
    lowest_kept: float
    """The lowest score of a kept pair."""
    forward: float
    """Mean cross-entropy of all scored pairs by the forward model, in nats per token."""
    reverse: float
    """The same by the reverse model."""
    examples: dict[str, list[dict[str, Any]]]
    """Rows: the ``worst`` scored pairs, and those next to the threshold, ``last_dropped`` and
    ``first_kept``, the lowest score first."""


def select(
    corpus: ScoredCorpus, threshold: Threshold, add: Callable[[dict[str, Any]], object]
) -> FilterReport:
    """Pass the rows of the kept pairs to ``add``, in order.

    Of pairs with equal scores the first are kept.  Pairs with a problem are never kept.  Memory
    holds some tens of bytes per pair, but no text.
    """
    scores = np.zeros(corpus.pairs, np.float64)
    fit = np.zeros(corpus.pairs, np.bool_)
    problems: Counter[str] = Counter()
    sums = np.zeros(2)
    for number, row in enumerate(corpus.rows()):
        scores[number] = row["score"]
        fit[number] = row["problem"] is None
        if fit[number]:
            sums += (row["forward"], row["reverse"])
        else:
            problems[row["problem"]] += 1
    kept = kept_numbers(scores, fit, threshold)
    if not len(kept):
        raise DataError(_nothing(scores, fit, threshold))
    problems[LOW_SCORE] = int(fit.sum()) - len(kept)
    wanted = np.zeros(corpus.pairs, np.bool_)
    wanted[kept] = True
    shown = _examples(scores, fit, wanted)
    rows = _passed(corpus.rows(), wanted, add, {n for some in shown.values() for n in some})
    forward, reverse = (sums / int(fit.sum())).tolist()
    return FilterReport(
        corpus.pairs,
        len(kept),
        {name: count for name, count in problems.most_common() if count},
        float(scores[kept].min()),
        forward,
        reverse,
        {name: [rows[number] for number in numbers] for name, numbers in shown.items()},
    )


def kept_numbers(
    scores: NDArray[np.float64], fit: NDArray[np.bool_], threshold: Threshold
) -> NDArray[np.int64]:
    """The numbers of the kept pairs, ascending.

    Args:
        scores: of all pairs, ``(pairs,)``.
        fit: whether each pair has no problem, ``(pairs,)``.
        threshold: the share of all pairs, or the score.
    """
    if threshold.above is not None:
        return np.flatnonzero(fit & (scores > threshold.above))
    assert threshold.keep is not None, "a threshold has either"
    numbers = np.flatnonzero(fit)
    # Pairs with equal scores stay in their order.
    best = numbers[np.argsort(-scores[numbers], kind="stable")]
    # As the decimal fraction intended: 0.7 of 10 pairs are 7, and 0.29 of 100 are 29.
    return np.sort(best[: int(round(threshold.keep * len(scores), 6))])


def _examples(
    scores: NDArray[np.float64], fit: NDArray[np.bool_], kept: NDArray[np.bool_]
) -> dict[str, list[int]]:
    """The numbers of pairs to show, the lowest score first."""

    def rising(among: NDArray[np.bool_]) -> list[int]:
        numbers = np.flatnonzero(among)
        order: list[int] = numbers[np.argsort(scores[numbers], kind="stable")].tolist()
        return order

    dropped = rising(fit & ~kept)
    return {
        "worst": dropped[:_EXAMPLES],
        "last_dropped": dropped[_EXAMPLES:][-_EXAMPLES:],
        "first_kept": rising(kept)[:_EXAMPLES],
    }


def _passed(
    rows: Iterable[dict[str, Any]],
    kept: NDArray[np.bool_],
    add: Callable[[dict[str, Any]], object],
    shown: set[int],
) -> dict[int, dict[str, Any]]:
    """Pass kept rows to ``add``, and return the rows to show."""
    rows_shown = {}
    for number, row in enumerate(rows):
        if kept[number]:
            add(row)
        if number in shown:
            rows_shown[number] = row
    return rows_shown


def _nothing(scores: NDArray[np.float64], fit: NDArray[np.bool_], threshold: Threshold) -> str:
    """The reason why nothing is kept, and the remedy."""
    if not fit.any():
        return (
            "no pair is fit: all are empty, too long, copied or in another language; check the "
            "files, their sides and the languages of the models"
        )
    if threshold.above is not None:
        return (
            f"no pair scores above {threshold.above:g}; the highest score is "
            f"{scores[fit].max():g}; lower the threshold, or keep a share of the pairs"
        )
    return f"a share of {threshold.keep:g} of {len(scores):,} pairs is less than one; keep more"
