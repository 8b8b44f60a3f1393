"""The formulas of the paper: bounds, and what raises and lowers a score."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.techniques.corpus_filtering.formula import adequacy, domain_match, length_match

NATS = st.floats(0, 30)


def test_adequacy_is_the_formula_of_the_paper() -> None:
    assert adequacy(2.0, 3.0) == pytest.approx(math.exp(-(1.0 + 2.5)), rel=1e-12)
    assert adequacy(0.0, 0.0) == 1.0


@given(NATS, NATS, st.floats(0.01, 5))
def test_both_models_and_their_agreement_count(one: float, other: float, more: float) -> None:
    score = adequacy(one, other)
    assert 0 < score <= 1
    assert score == adequacy(other, one)
    assert adequacy(one + more, other + more) < score
    mean = (one + other) / 2
    assert adequacy(mean, mean) >= score, "of equal means, the closer two are better"


@given(NATS, NATS)
def test_text_of_the_domain_is_never_punished(wanted: float, general: float) -> None:
    match = domain_match(wanted, general)
    assert match == pytest.approx(min(1.0, math.exp(general - wanted)))
    assert (match == 1) == (wanted <= general or math.exp(general - wanted) == 1)


@given(st.floats(-6, 6))
def test_the_length_counts_as_the_root_of_a_normal_density(excess: float) -> None:
    normal = NormalDist()
    expected = math.sqrt(normal.pdf(excess) / normal.pdf(0))
    assert length_match(excess) == pytest.approx(expected, rel=1e-9)
