"""Pieces that belong to another language, against the definition piece by piece."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text.vocabularies.piece_frequencies import PieceFrequencies

SHARES = PieceFrequencies(
    {
        "en": np.array([0, 0.5, 0.25, 0.25, 0], np.float32),
        "de": np.array([0, 0.25, 0, 0.25, 0.5], np.float32),
        "fr": np.array([0, 1, 0, 0, 0], np.float32),
    }
)
numbers = st.floats(0, 1, width=32)


@pytest.mark.parametrize(
    ("language", "share", "others", "foreign"),
    [
        ("de", 0.0, None, ()),
        ("de", 0.125, None, (2,)),
        ("de", 0.25, None, (2,)),  # as frequent as it must be
        ("de", 0.375, None, (1, 2)),  # French has it four times as often
        ("de", 0.375, ["en"], (2,)),
        ("fr", 0.125, None, (2, 3, 4)),
        ("en", 1.0, ["de"], (4,)),
    ],
)
def test_a_piece_is_foreign_by_its_share(
    language: str, share: float, others: list[str] | None, foreign: tuple[int, ...]
) -> None:
    assert SHARES.foreign(language, share, others) == foreign


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=8), numbers)
def test_pieces_that_another_language_has_more_often_are_foreign(
    rows: list[tuple[float, float, float]], share: float
) -> None:
    table = np.array(rows, np.float32)
    shares = dict(zip(("en", "de", "fr"), table.T, strict=True))
    foreign = PieceFrequencies(shares).foreign("de", share)
    least = np.float32(share) * np.maximum(table[:, 0], table[:, 2])
    assert foreign == tuple(n for n, here in enumerate(table[:, 1]) if here < least[n])
