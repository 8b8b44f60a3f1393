"""What ``docs/search.md`` promises when the same lines are translated under other conditions.

Sums differ in their last digits between batch shapes, thread counts, kernels and processors, in
float64 too.  So texts are the same except for ties, and scores agree within a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dragoman.translation.outputs import Translation

RELATIVE = 1e-4
"""Tolerance of scores and log-probabilities in float32, relative to their size."""

ABSOLUTE = 1e-4
"""Tolerance of those nearer to 0 than 1, of an output that is nearly certain."""


def close(value: float) -> object:
    """What a score under other conditions is compared with."""
    return pytest.approx(value, rel=RELATIVE, abs=ABSOLUTE)


def assert_same_translations(
    found: Sequence[Sequence[Translation]], expected: Sequence[Sequence[Translation]]
) -> None:
    """Compare n-best lists of the same lines, rank by rank."""
    assert [len(ranked) for ranked in found] == [len(ranked) for ranked in expected]
    for line, (ranked, wanted) in enumerate(zip(found, expected, strict=True)):
        for rank, (one, other) in enumerate(zip(ranked, wanted, strict=True)):
            place = f"line {line}, rank {rank}"
            assert one.score == close(other.score), place
            if one.text != other.text and is_tied(rank, wanted):
                continue
            assert one.text == other.text, place
            assert (one.pieces, one.ended, one.refused) == (
                other.pieces,
                other.ended,
                other.refused,
            ), place
            assert one.log_probability == close(other.log_probability), place


def is_tied(rank: int, ranked: Sequence[Translation]) -> bool:
    """Whether a neighbour in the list has the same score, or may have had one beyond its end.

    A list of one tells of no tie, so that its text is compared.
    """
    if 0 < rank == len(ranked) - 1:
        return True
    neighbours = [*ranked[max(0, rank - 1) : rank], *ranked[rank + 1 : rank + 2]]
    return any(neighbour.score == close(ranked[rank].score) for neighbour in neighbours)
