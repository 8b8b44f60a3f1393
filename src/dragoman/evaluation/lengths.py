"""Scores by source length, in the manner of Bahdanau et al. 2015.

"Neural Machine Translation by Jointly Learning to Align and Translate", figure 2: whether a system
keeps up on long sentences does not show in the score of a whole test set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from dragoman.core.errors import DataError
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    Score,
    SourceSide,
    check_parallel,
    score_corpus,
)

_BUCKETS = 5


@dataclass(frozen=True)
class Bucket:
    """Sentences with sources of similar length, and the score of each system on them."""

    shortest: int
    longest: int
    sentences: int
    scores: dict[str, Score]
    """Scores by the name of the system."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return vars(self) | {"scores": {name: one.to_json() for name, one in self.scores.items()}}

    def __str__(self) -> str:
        one = self.shortest == self.longest
        return str(self.longest) if one else f"{self.shortest} to {self.longest}"


def score_by_length(
    lengths: Sequence[int],
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    config: EvaluationConfig | None = None,
    bounds: Sequence[int] = (),
    *,
    source: SourceSide | None = None,
) -> list[Bucket]:
    """Score sentences of similar length together, by the first of the metrics.

    These are corpus scores of parts of the test set, so their mean is not the overall score.

    Args:
        lengths: length of each source sentence, in any unit.
        systems: translations by the name of the system.
        references: sets of reference translations.
        config: the metrics, of which the first counts; ``confidence_samples`` gives intervals.
        bounds: the maximum length of each bucket but the last, ascending; by default, those that
            come closest to five buckets with equal numbers of sentences.
        source: needed by metrics that read sources.

    Returns:
        Buckets from short to long, without empty ones.

    Raises:
        DataError: lines are missing or their numbers differ.
    """
    config = config or EvaluationConfig()
    assert systems and config.metrics, "there are systems and metrics"
    for name, hypotheses in systems.items():
        check_parallel(hypotheses, references, name)
        if len(lengths) != len(hypotheses):
            raise DataError(
                f"{name}: {len(hypotheses)} lines, but {len(lengths)} sources; "
                "line n of one must translate line n of the other"
            )
    if source is not None and len(source.lines) != len(lengths):
        raise DataError(
            f"{len(source.lines)} lines of source text, but {len(lengths)} lengths; line n of one "
            "must belong to line n of the other"
        )
    config = config.model_copy(update={"metrics": config.metrics[:1]})
    buckets = []
    for above, longest in pairwise([-1, *(bounds or even_bounds(lengths)), max(lengths)]):
        rows = [row for row, length in enumerate(lengths) if above < length <= longest]
        if not rows:
            continue
        chosen = [[lines[row] for row in rows] for lines in references]
        read = source and replace(source, lines=[source.lines[row] for row in rows])
        scores = {
            name: score_corpus([lines[row] for row in rows], chosen, config, read)[0]
            for name, lines in systems.items()
        }
        found = [lengths[row] for row in rows]
        buckets.append(Bucket(min(found), max(found), len(rows), scores))
    return buckets


def even_bounds(lengths: Sequence[int], buckets: int = _BUCKETS) -> list[int]:
    """Maximum lengths of all buckets but the last, for about equal numbers of sentences.

    Sentences of equal length stay together, so there may be fewer buckets.
    """
    ordered = sorted(lengths)
    bounds = {ordered[len(ordered) * part // buckets - 1] for part in range(1, buckets)}
    return sorted(bounds - {ordered[-1]})
