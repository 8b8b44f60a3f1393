from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.scripts import SCRIPTS, overlap, script_shares


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("Hello, 123!", {"Latin": 1.0}),
        ("Привет", {"Cyrillic": 1.0}),
        ("확인 OK", {"Hangul": 0.5, "Latin": 0.5}),
        ("漢字かなカナ", {"Han": 1 / 3, "Hiragana": 1 / 3, "Katakana": 1 / 3}),
        ("สวัสดี", {"Thai": 1.0}),
        ("123 -- !", {}),
        ("", {}),
        ("ꯃꯅꯤ", {"other": 1.0}),
    ],
)
def test_known_texts(text: str, shares: dict[str, float]) -> None:
    assert script_shares(Counter(text)) == pytest.approx(shares)


@given(st.text(st.sampled_from("aZéЖあカ漢한ก1 .\u0301ꯃ")))
def test_shares_add_up_and_come_largest_first(text: str) -> None:
    found = list(script_shares(Counter(text)).values())
    assert found == sorted(found, reverse=True)
    assert not found or sum(found) == pytest.approx(1)


shares = st.dictionaries(st.sampled_from(SCRIPTS), st.integers(1, 9), min_size=1, max_size=4).map(
    lambda counts: {name: count / sum(counts.values()) for name, count in counts.items()}
)


@given(shares, shares)
def test_overlap(one: dict[str, float], other: dict[str, float]) -> None:
    assert overlap(one, other) == pytest.approx(overlap(other, one))
    assert overlap(one, one) == pytest.approx(1)
    assert (overlap(one, other) == 0) == (not one.keys() & other.keys())
