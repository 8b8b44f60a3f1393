"""Logistic regression: the probability of an outcome as a function of some measurements.

    P(y = 1 | x) = 1 / (1 + exp(-(b + w · x)))

It minimises the negative log-likelihood plus half the squared length of ``w`` by Newton's method
(iteratively reweighted least squares; Hastie, Tibshirani and Friedman 2009, "The Elements of
Statistical Learning", sections 4.4.1 and 18.4), where every measurement has been brought to mean 0
and variance 1.  ``b`` is free.  That is scikit-learn's ``LogisticRegression`` with its default
``C=1`` behind a ``StandardScaler``, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_TOLERANCE = 1e-10  # of the largest component of the gradient, per outcome
_STEPS = 100
_HALVINGS = 40


@dataclass(frozen=True)
class LogisticModel:
    """A fitted regression, in the units of the measurements themselves."""

    intercept: float
    weights: tuple[float, ...]

    def probabilities(self, measured: Vector) -> Vector:
        """``P(y = 1 | x)`` for each row of ``measured`` ``(rows, measurements)``; ``(rows,)``."""
        return _sigmoid(self.intercept + measured @ np.array(self.weights))


def fit_logistic(measured: Vector, outcomes: Vector) -> LogisticModel:
    """Fit a regression; a measurement that is always the same gets the weight 0.

    Args:
        measured: finite, ``(rows, measurements)``.
        outcomes: 0 or 1, both of which occur, ``(rows,)``.
    """
    assert 0 < outcomes.sum() < len(outcomes), "without both outcomes there is no finite solution"
    means, scales = measured.mean(0), measured.std(0)
    varies = scales > 1e-12 * np.maximum(1.0, np.abs(means))
    scales = np.where(varies, scales, 1.0)
    scaled = np.where(varies, (measured - means) / scales, 0.0)
    inputs = np.column_stack([np.ones(len(scaled)), scaled])
    found = _newton(inputs, outcomes.astype(np.float64))
    weights = found[1:] / scales
    return LogisticModel(float(found[0] - weights @ means), tuple(map(float, weights)))


def _newton(inputs: Vector, outcomes: Vector) -> Vector:
    """The minimum, for inputs whose first column is that of the intercept."""
    penalty = np.ones(inputs.shape[1])
    penalty[0] = 0.0
    share = outcomes.mean()
    found = np.zeros(inputs.shape[1])
    found[0] = np.log(share / (1 - share))
    loss = _loss(inputs, outcomes, penalty, found)
    for _ in range(_STEPS):
        probabilities = _sigmoid(inputs @ found)
        gradient = inputs.T @ (probabilities - outcomes) + penalty * found
        if np.abs(gradient).max() <= _TOLERANCE * len(outcomes):
            break
        curvature = (inputs * (probabilities * (1 - probabilities))[:, None]).T @ inputs
        step = np.linalg.solve(curvature + np.diag(penalty), gradient)
        for _ in range(_HALVINGS):  # a whole step may overshoot where outcomes are separated
            after = found - step
            if (changed := _loss(inputs, outcomes, penalty, after)) <= loss:
                found, loss = after, changed
                break
            step = step / 2
        else:
            break  # no smaller loss can be told apart in float64
    return found


def _loss(inputs: Vector, outcomes: Vector, penalty: Vector, found: Vector) -> float:
    """Negative log-likelihood plus half the penalised squares."""
    logits = inputs @ found
    likelihood = np.logaddexp(0.0, logits) - outcomes * logits
    return float(likelihood.sum() + 0.5 * (penalty * found * found).sum())


def _sigmoid(logits: Vector) -> Vector:
    """Without overflow: ``exp`` is taken of values below 0 only."""
    small = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1.0, small) / (1.0 + small)
