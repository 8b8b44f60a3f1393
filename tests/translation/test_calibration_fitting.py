"""Cross-validation, by which a calibration is judged on its own text."""

import numpy as np
import pytest

from dragoman.evaluation.logistic import fit_logistic
from dragoman.translation.calibration_fitting import FOLDS, cross_validated


def test_no_line_judges_itself() -> None:
    """A fold's probabilities are those of a regression on all others, whatever is in the fold."""
    rng = np.random.default_rng(2)
    measured = rng.normal(size=(53, 2))
    outcomes = (measured[:, 0] + rng.normal(size=53) > 0).astype(np.float64)
    found = cross_validated(measured, outcomes)
    first = np.arange(53) * FOLDS // 53 == 0
    expected = fit_logistic(measured[~first], outcomes[~first]).probabilities(measured[first])
    assert found[first] == pytest.approx(expected)
    assert cross_validated(measured, np.where(first, 1 - outcomes, outcomes))[
        first
    ] == pytest.approx(expected)


def test_a_fold_may_have_all_of_a_kind() -> None:
    outcomes = np.zeros(40)
    outcomes[-4:] = 1
    found = cross_validated(np.arange(40.0)[:, None], outcomes)
    assert found[-4:].tolist() == [0] * 4
    assert np.isfinite(found).all()
