"""How well scores tell wrong pairs from right ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.techniques.corpus_filtering.selection import Threshold, kept_numbers
from studies.noise.making import RIGHT

_RESAMPLES = 1000
_SEED = 1  # of the resamples
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    """A share of some pairs, with its 95 % interval by the bootstrap."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True)
class Caught:
    """What a filter finds that drops the pairs with the lowest scores."""

    pairs: int
    wrong: int
    dropped: int
    area: Share
    """Area under the ROC curve: how often a right pair scores higher than a wrong one."""
    recall: Share
    """Share of the wrong pairs that is dropped."""
    precision: Share
    """Share of the dropped pairs that is wrong."""
    by_kind: dict[str, float]
    """Share of each kind that is dropped; under an empty name, of the right pairs."""
    parts: dict[str, float]
    """The area of each part of the score by itself."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def table(self) -> str:
        """A few lines."""
        rows = [
            ("pairs", f"{self.pairs:,}"),
            ("wrong", f"{self.wrong:,}"),
            ("dropped", f"{self.dropped:,}"),
            ("area under the ROC curve", str(self.area)),
            ("wrong pairs dropped (recall)", str(self.recall)),
            ("dropped pairs wrong (precision)", str(self.precision)),
            *(
                (f"dropped of {kind or 'right'}", f"{100 * share:.1f} %")
                for kind, share in self.by_kind.items()
            ),
            *(
                (f"area of {name} alone", f"{100 * area:.1f} %")
                for name, area in self.parts.items()
            ),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def caught(
    scores: Scores,
    kinds: Sequence[str],
    keep: float,
    parts: dict[str, Scores] | None = None,
    fit: NDArray[np.bool_] | None = None,
) -> Caught:
    """Compare scores with what is known of the pairs.

    Args:
        scores: of each pair, ``(pairs,)``: the higher, the better.
        kinds: what is wrong with each; :data:`RIGHT` for nothing.
        keep: share of the pairs that the filter keeps.
        parts: other scores of the same pairs, by name, whose areas are given as well.
        fit: which pairs the filter may keep, ``(pairs,)``; by default all.

    Raises:
        DataError: another number of scores than of pairs, or no pair of either sort.
    """
    if len(scores) != len(kinds):
        raise DataError(f"{len(scores):,} scores and {len(kinds):,} pairs; give those of one text")
    names = np.array(kinds, dtype=object)
    wrong = names != RIGHT
    if not 0 < wrong.sum() < len(wrong):
        raise DataError("the pairs are all right or all wrong, so there is nothing to tell apart")
    gone = np.ones(len(scores), bool)
    fit = np.ones(len(scores), bool) if fit is None else fit
    gone[kept_numbers(scores, fit, Threshold(keep=keep))] = False
    rng = np.random.default_rng(_SEED)
    samples = []
    sorts = np.flatnonzero(wrong), np.flatnonzero(~wrong)
    for _ in range(_RESAMPLES):
        # As many of either sort, without which there is no area.
        drawn = np.concatenate([rng.choice(sort, len(sort)) for sort in sorts])
        samples.append(_shares(scores[drawn], wrong[drawn], gone[drawn]))
    bounds = np.quantile(np.array(samples), [0.025, 0.975], axis=0)
    values = _shares(scores, wrong, gone)
    area, recall, precision = (
        Share(value, float(low), float(high))
        for value, low, high in zip(values, *bounds, strict=True)
    )
    return Caught(
        len(scores),
        int(wrong.sum()),
        int(gone.sum()),
        area,
        recall,
        precision,
        {kind: float(gone[names == kind].mean()) for kind in sorted(set(kinds))},
        {name: area_under_curve(one, wrong) for name, one in (parts or {}).items()},
    )


def area_under_curve(scores: Scores, wrong: NDArray[np.bool_]) -> float:
    """How often a right pair scores higher than a wrong one; ties count half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    ranks = (last - (counts - 1) / 2)[place]  # from 1; the mean rank of equal scores
    right = int((~wrong).sum())
    above = ranks[~wrong].sum() - right * (right + 1) / 2
    return float(above / (right * int(wrong.sum())))


def _shares(
    scores: Scores, wrong: NDArray[np.bool_], gone: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Area, recall and precision."""
    both = float((wrong & gone).sum())
    return (
        area_under_curve(scores, wrong),
        both / max(1, int(wrong.sum())),
        both / max(1, int(gone.sum())),
    )
