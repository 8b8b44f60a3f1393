"""The learning rate that short trials choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from invented import facts, pieces

from dragoman.data.batches import Batch, make_batch
from dragoman.models.cost import Cost
from dragoman.workflows.init.adapting_choice import AdaptingPlan, plan_adapting
from dragoman.workflows.init.rate_trial import RateTrial, trial_steps, try_rates
from dragoman.workflows.rehearsal import Measured

DEV = [make_batch([[7]], [[7]])]


class Bowl:
    """A loss with its minimum in 1, which steps of gradient descent approach from ``start``."""

    def __init__(self, start: float, curvature: float = 1.0) -> None:
        self.place, self._curvature = start, curvature
        self.rates: list[float] = []

    def step(self, learning_rate: float) -> None:
        """Descend along the gradient."""
        self.rates.append(learning_rate)
        self.place -= learning_rate * self._curvature * (self.place - 1)

    def loss(self, batches: Sequence[Batch]) -> float:
        """Half the curvature times the squared distance."""
        assert batches is DEV
        return self._curvature / 2 * (self.place - 1) ** 2


@pytest.mark.parametrize(
    ("begin", "chosen"),
    [
        pytest.param(lambda: Bowl(9.0), 0.09, id="far: the highest learns fastest"),
        pytest.param(lambda: Bowl(9.0, 90.0), 0.01, id="steep: higher ones are thrown out of it"),
        pytest.param(lambda: Bowl(1.05), 0.01, id="there: a difference of noise, the gentlest"),
        pytest.param(lambda: Bowl(9.0, 30.0), 0.03, id="between"),
    ],
)
def test_the_dev_set_chooses(begin: Callable[[], Bowl], chosen: float) -> None:
    trial = try_rates(0.01, 10, begin, DEV)
    assert trial.chosen == chosen
    assert trial.before == begin().loss(DEV)
    assert list(trial.losses) == [0.01, 0.03, 0.09]


def test_a_trial_warms_up_and_decays_from_the_same_start() -> None:
    begun: list[Bowl] = []

    def begin() -> Bowl:
        begun.append(Bowl(9.0))
        return begun[-1]

    try_rates(0.01, 20, begin, DEV)
    assert [max(one.rates) for one in begun] == pytest.approx([0.01, 0.03, 0.09])
    rates = begun[0].rates
    assert len(rates) == 20
    assert rates[:3] == pytest.approx([0.005, 0.01, 0.01 * 18 / 19])
    assert rates[-1] == pytest.approx(0.01 / 19)  # the last step changes something


def test_without_time_for_trials_nothing_is_tried() -> None:
    def begin() -> Bowl:
        raise AssertionError("there is no time")

    trial = try_rates(0.01, 0, begin, DEV)
    assert trial == RateTrial(0, None, {}, 0.01)
    assert "too slow to try higher ones" in trial.story


def test_the_story_has_the_losses() -> None:
    trial = RateTrial(20, 3.9817, {0.0004: 3.7181, 0.0012: 3.5352}, 0.0012)
    assert trial.story == (
        "the best of 2 on the dev set: a loss of 3.98 nats per token before, and after 20 steps "
        "3.72 at 0.0004, 3.54 at 0.0012"
    )


@pytest.mark.parametrize(
    ("seconds", "steps"), [(0.1, 20), (2.0, 20), (3.0, 13), (5.0, 8), (5.1, 0), (60.0, 0)]
)
def test_trials_take_a_fifth_of_the_time(seconds: float, steps: int) -> None:
    assert trial_steps(replace(_plan(), max_minutes=10), seconds) == steps


def _plan() -> AdaptingPlan:
    return plan_adapting(
        facts(9_500), pieces(9_500), 128, "full", sizes=Cost({"all": 2_000_000}, 1.0, 1.0),
        measured=Measured(2000.0, 1e4), available=16e9, minutes=10,
    )  # fmt: skip
