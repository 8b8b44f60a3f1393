"""The regression is the minimum that it claims to be, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.evaluation.logistic import LogisticModel, fit_logistic

Array = NDArray[np.float64]


def drawn(seed: int, rows: int, *, kinds: int = 3, sharpness: float = 1.0) -> tuple[Array, Array]:
    """Measurements of very different units, and outcomes that depend on them."""
    rng = np.random.default_rng(seed)
    measured = rng.normal(size=(rows, kinds)) * np.geomspace(0.01, 100, kinds) + 5
    logits = sharpness * ((measured - 5) / np.geomspace(0.01, 100, kinds)).sum(1)
    outcomes = (rng.random(rows) < 1 / (1 + np.exp(-logits))).astype(np.float64)
    outcomes[:2] = 0, 1
    return measured, outcomes


def penalised(model: LogisticModel, measured: Array, outcomes: Array) -> float:
    """What is minimised, by its definition: one row after the other."""
    total = []
    for row, outcome in zip(measured.tolist(), outcomes.tolist(), strict=True):
        logit = model.intercept + math.fsum(
            w * value for w, value in zip(model.weights, row, strict=True)
        )
        sign = 1 if outcome else -1
        total.append(math.log1p(math.exp(-sign * logit)))
    scaled = [
        weight * measured[:, place].std() for place, weight in enumerate(model.weights)
    ]  # the penalty is on the weights of scaled measurements
    return math.fsum([*total, *(0.5 * weight**2 for weight in scaled)])


@settings(max_examples=8)
@given(
    seed=st.integers(0, 9999),
    rows=st.integers(12, 60),
    sharpness=st.sampled_from([0.0, 1.0, 5.0]),
)
def test_no_change_of_any_weight_is_better(seed: int, rows: int, sharpness: float) -> None:
    measured, outcomes = drawn(seed, rows, sharpness=sharpness)
    found = fit_logistic(measured, outcomes)
    least = penalised(found, measured, outcomes)
    scales = measured.std(0)
    for change in (1e-3, -1e-3):
        # The intercept is moved with a weight so that only the scaled weight changes.
        others = [LogisticModel(found.intercept + change, found.weights)]
        for place, scale in enumerate(scales):
            weights = list(found.weights)
            weights[place] += change / scale
            moved = found.intercept - change / scale * measured[:, place].mean()
            others.append(LogisticModel(float(moved), tuple(weights)))
        assert all(penalised(other, measured, outcomes) > least for other in others)


def test_probabilities_have_the_mean_of_the_outcomes() -> None:
    """The intercept is free, so the regression is right on average."""
    measured, outcomes = drawn(3, 200)
    found = fit_logistic(measured, outcomes).probabilities(measured)
    assert found.mean() == pytest.approx(outcomes.mean(), abs=1e-8)


def test_units_do_not_matter() -> None:
    measured, outcomes = drawn(4, 80)
    other = measured * [1000.0, -0.1, 3.0] + [7.0, -1.0, 0.0]
    one, two = (fit_logistic(rows, outcomes).probabilities(rows) for rows in (measured, other))
    assert one == pytest.approx(two, abs=1e-7)


def test_what_scikit_learn_finds() -> None:
    """Its version 1.9.1: LogisticRegression(tol=1e-12, solver="newton-cholesky") behind a
    StandardScaler, in the units of these rows."""
    x = np.arange(24, dtype=np.float64)
    measured = np.column_stack([np.sin(x), 10 * np.cos(2 * x) + 3])
    outcomes = ((7 * x + x**2) % 5 < 2 + (x > 11)).astype(np.float64)
    found = fit_logistic(measured, outcomes)
    theirs = (-0.3221148357693693, -0.11970702485338197, -0.0031023133028914443)
    assert (found.intercept, *found.weights) == pytest.approx(theirs, abs=1e-9)


def test_separated_outcomes_and_constants_have_a_finite_solution() -> None:
    values = np.linspace(-1, 1, 40)
    measured = np.column_stack([values * 1e6, np.full(40, 0.1)])
    found = fit_logistic(measured, (values > 0).astype(np.float64))
    assert found.weights[1] == 0
    assert 0 < found.weights[0] * 1e6 < 100
    probabilities = found.probabilities(np.array([[-1e300, 0.1], [1e300, 0.1]]))
    assert probabilities.tolist() == [0, 1]
