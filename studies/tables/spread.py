"""Rows that are shown as one: the mean of their scores, and how far they spread."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from studies.tables.scoring import Line


@dataclass(frozen=True)
class Spread:
    """A figure over several seeds."""

    mean: float
    deviation: float
    """Sample standard deviation; 0 for one seed."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The mean and spread of some values."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)


@dataclass(frozen=True)
class Mean:
    """The rows of a group on one test."""

    group: str
    test: str
    rows: Sequence[str]
    """Those that have scores."""
    scores: Mapping[str, Spread]
    """By the name of the score."""
    difference: Spread | None
    """From the baselines; None if there are none."""
    p_values: Sequence[float]
    """Of each difference."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def mean_of(lines: Sequence[Line]) -> Mean | None:
    """The mean of the lines of one group on one test; None if none of them has scores."""
    scored = [line for line in lines if line.scores]
    if not scored:
        return None
    names = [score["name"] for score in scored[0].scores]
    compared = [line.difference for line in scored if line.difference is not None]
    return Mean(
        scored[0].group,
        scored[0].test,
        [line.row for line in scored],
        {
            name: Spread.of([line.scores[place]["value"] for line in scored])
            for place, name in enumerate(names)
        },
        Spread.of([one["difference"] for one in compared]) if compared else None,
        [one["p_value"] for one in compared],
    )


def grouped(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines on the same test of the same group together, where the first of them is."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.test, line.group or f"row {line.row}"), []).append(line)
    return list(groups.values())
