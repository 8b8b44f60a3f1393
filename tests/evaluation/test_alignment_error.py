"""Links beside those of people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.alignment_error import alignment_score

LINKS = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


def test_figures_by_hand() -> None:
    # Pair 1: both sure links, one possible, one wrong.  Pair 2: nothing found, one sure.
    found = [[(0, 0), (1, 1), (2, 1), (3, 3)], []]
    gold = [([(0, 0), (1, 1)], [(2, 1), (2, 2)]), ([(0, 0)], [])]
    score = alignment_score(found, gold)
    assert score.precision == pytest.approx(3 / 4)
    assert score.recall == pytest.approx(2 / 3)
    assert score.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), max_size=4))
def test_the_error_rate_is_a_share(pairs: list[tuple[frozenset[tuple[int, int]], ...]]) -> None:
    score = alignment_score((found for found, _, _ in pairs), ((s, p) for _, s, p in pairs))
    assert 0 <= score.error_rate <= 1
    exact = alignment_score((sure for _, sure, _ in pairs), ((s, p) for _, s, p in pairs))
    assert exact.error_rate == 0 and exact.precision == exact.recall == 1
    if all(sure == possible for _, sure, possible in pairs) and score.found + score.sure:
        # With sure links alone it is 1 - F1.
        expected = 1 - 2 * score.found_sure / (score.found + score.sure)
        assert score.error_rate == pytest.approx(expected)


def test_texts_of_other_length() -> None:
    with pytest.raises(ValueError, match="zip"):
        alignment_score([[]], [])
