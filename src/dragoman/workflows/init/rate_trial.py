"""A learning rate for adapting a model: a few steps at three rates, and the dev set decides.

The right rate depends on how far the starting model is from the text.  That of ``dragoman adapt``
is for a model that is near, and a model that has yet to learn the text needs several times as much
(docs/results/start-from-a-public-model.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from dragoman.data.batches import Batch
from dragoman.training.schedule import ScheduleConfig, learning_rate
from dragoman.workflows.init.adapting_choice import AdaptingPlan

_FACTORS = (1.0, 3.0, 9.0)
_STEPS, _FEWEST_STEPS = 20, 8
_SHARE_OF_TIME = 0.2  # of the minutes of training, for all rates
_WARMUP = 0.1  # of the steps
_NOISE = 0.01  # nats per token
MOST_DEV_PAIRS = 300
"""Pairs of the dev set that suffice to tell rates apart."""


class Learner(Protocol):
    """A model that begins with the weights of the starting model."""

    def step(self, learning_rate: float) -> object:
        """Take a step."""

    def loss(self, batches: Sequence[Batch]) -> float:
        """Nats per target token."""


@dataclass(frozen=True)
class RateTrial:
    """Learning rates that were tried, the lowest first."""

    steps: int
    """Of each trial; 0 if there was no time for one."""
    before: float | None
    """Dev loss of the starting model, nats per token."""
    losses: dict[float, float]
    """Dev loss after the steps, by peak rate."""
    chosen: float
    """The lowest rate whose loss is the best one, give or take noise."""

    @property
    def story(self) -> str:
        """Why this rate was chosen."""
        if self.before is None:
            return (
                "as dragoman adapt chooses it, low, to forget little; this machine is too slow to "
                "try higher ones in so few minutes (dragoman init --minutes)"
            )
        tried = ", ".join(f"{loss:.2f} at {rate:.3g}" for rate, loss in self.losses.items())
        return (
            f"the best of {len(self.losses)} on the dev set: a loss of {self.before:.2f} nats per "
            f"token before, and after {self.steps} steps {tried}"
        )


def trial_steps(plan: AdaptingPlan, seconds_of_step: float) -> int:
    """Steps of each trial, so that all take a fifth of the time; 0 if that is too short."""
    affordable = _SHARE_OF_TIME * 60 * plan.max_minutes / seconds_of_step
    steps = min(_STEPS, int(affordable / len(_FACTORS)))
    return steps if steps >= _FEWEST_STEPS else 0


def try_rates(
    gentle: float, steps: int, begin: Callable[[], Learner], dev: Sequence[Batch]
) -> RateTrial:
    """Train from the start with each rate, and compare losses.

    Each trial is a small training of its own: a warm-up, and a linear decay to zero.

    Args:
        gentle: the rate of ``dragoman adapt``, and the lowest that is tried.
        steps: of each trial; 0 to try nothing.
        begin: the starting model, the same each time.
        dev: must not be empty.
    """
    if not steps:
        return RateTrial(0, None, {}, gentle)
    before: float | None = None
    losses: dict[float, float] = {}
    for rate in (float(f"{gentle * factor:.3g}") for factor in _FACTORS):
        learner = begin()
        before = learner.loss(dev) if before is None else before
        schedule = ScheduleConfig(
            peak_learning_rate=rate, warmup_steps=max(1, round(_WARMUP * steps)), decay="linear"
        )
        for step in range(1, steps + 1):
            # With one step more, the last one changes something, too.
            learner.step(learning_rate(schedule, step, d_model=1, max_steps=steps + 1))
        losses[rate] = learner.loss(dev)
    best = min(losses.values())
    chosen = min(rate for rate, loss in losses.items() if loss <= best + _NOISE)
    return RateTrial(steps, before, losses, chosen)
