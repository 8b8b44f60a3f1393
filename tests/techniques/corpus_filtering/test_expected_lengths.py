"""What lengths are usual is learned from right and wrong pairs, and halves are told by it."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.techniques.corpus_filtering.expected_lengths import ExpectedLengths

LENGTHS = st.lists(st.tuples(st.integers(1, 500), st.integers(1, 500)), min_size=1, max_size=99)


def pairs(count: int, spread: float, *, seed: int = 1) -> list[tuple[int, int]]:
    """Targets a fifth longer than their sources on average."""
    rng = random.Random(seed)
    sources = [rng.randint(40, 120) for _ in range(count)]
    return [(one, max(1, round(one * 1.2 * math.exp(rng.gauss(0, spread))))) for one in sources]


@given(LENGTHS, st.integers(1, 500), st.integers(1, 500))
def test_few_pairs_are_one_group(lengths: list[tuple[int, int]], source: int, target: int) -> None:
    relative = [math.log((other + 1) / (one + 1)) for one, other in lengths]
    middle = statistics.median(relative)
    spread = 1.4826 * statistics.median(abs(one - middle) for one in relative)
    expected = (math.log((target + 1) / (source + 1)) - middle) / max(spread, 0.1)
    found = ExpectedLengths.of(lengths).excess(source, target)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_a_deviation_is_one_of_the_right_pairs() -> None:
    right = pairs(20_000, 0.2)
    usual = ExpectedLengths.of(right)
    found = [usual.excess(*one) for one in right]
    assert statistics.fmean(found) == pytest.approx(0, abs=0.05)
    assert statistics.pstdev(found) == pytest.approx(1, abs=0.05)


def test_wrong_pairs_hardly_change_what_is_usual() -> None:
    right = pairs(7_000, 0.2)
    halves = [(one, other // 2) for one, other in pairs(1_500, 0.2, seed=2)]
    others = [(pair[0], other[1]) for pair, other in zip(right[:1500], right[-1500:], strict=True)]
    usual = ExpectedLengths.of([*right, *halves, *others])
    assert statistics.fmean(usual.excess(*one) for one in right) == pytest.approx(0, abs=0.2)
    assert statistics.fmean(usual.excess(*one) for one in halves) < -2


def test_short_texts_may_vary_more() -> None:
    rng = random.Random(1)
    short = [(rng.randint(4, 8), rng.randint(3, 14)) for _ in range(2000)]
    usual = ExpectedLengths.of([*short, *pairs(2000, 0.1)])
    assert abs(usual.excess(6, 12)) < 1.5
    assert usual.excess(100, 200) > 3


def test_pairs_that_are_all_alike_do_not_make_others_impossible() -> None:
    usual = ExpectedLengths.of([(10, 12)] * 500)
    assert usual.excess(10, 12) == pytest.approx(0, abs=1e-4)
    assert 0 < usual.excess(10, 13) < 1
