"""What ``docs/search.md`` promises of the same lines translated in another way.

Processors round sums differently for other shapes of a batch, other numbers of threads and other
kernels, float64 included.  So the text is the same but for ties, and scores are close.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dragoman.translator import Translation

RELATIVE = 1e-4
"""How far scores and log-probabilities in float32 may differ, as a share of them."""

ABSOLUTE = 1e-5
"""The same where they are close to zero: of an output that is all but certain."""


def close(value: float) -> object:
    """Equal to every score that rounding may make of this one."""
    return pytest.approx(value, rel=RELATIVE, abs=ABSOLUTE)


def assert_same_translations(
    found: Sequence[Sequence[Translation]], expected: Sequence[Sequence[Translation]]
) -> None:
    """Hold n-best lists of the same lines beside each other, rank by rank."""
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
    """Whether a neighbour in the list has the same score, or the list ends here."""
    if rank + 1 == len(ranked):  # the other one of a tie may have been cut off
        return True
    neighbours = ranked[max(0, rank - 1) : rank] + ranked[rank + 1 : rank + 2]
    return any(neighbour.score == close(ranked[rank].score) for neighbour in neighbours)
