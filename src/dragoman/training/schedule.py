"""Values that change over the steps: learning rate (Vaswani et al. 2017, section 5.3), weights."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from dragoman.core.config import Config

_TOLERANCE = 0.02
"""Share of ``max_steps`` by which an end may be missed before it is decided anew."""


class ScheduleConfig(Config):
    """Linear warm-up to a peak, then decay."""

    warmup_steps: int = Field(4000, ge=1)
    """Warm-up steps, over which the rate rises linearly to its peak."""
    peak_learning_rate: float | None = Field(None, gt=0)
    """Learning rate at the end of the warm-up. By default d_model^-0.5 * warmup_steps^-0.5
    (equation 3)."""
    decay: Literal["inverse_sqrt", "linear", "cosine", "constant"] = "inverse_sqrt"
    """How the rate decays after the warm-up: with the inverse square root of the step (the paper),
    to zero at max_steps (linear or cosine), or not at all. With a rate of zero, the last step
    changes nothing."""
    hold: float = Field(0.0, ge=0, lt=1)
    """Share of the steps between the warm-up and max_steps at the peak rate, before it decays to
    zero (Hägele et al. 2024, arXiv:2405.18392)."""

    @model_validator(mode="after")
    def _is_held_before_a_decay(self) -> Self:
        if self.hold and not self.ends_at_zero:
            raise ValueError(f"hold needs decay: linear or cosine, not {self.decay}")
        return self

    @property
    def ends_at_zero(self) -> bool:
        """Whether the rate decays to zero at ``max_steps``."""
        return self.decay in {"linear", "cosine"}

    def peak(self, d_model: int) -> float:
        """The highest rate, for a model of width ``d_model``."""
        if self.peak_learning_rate is not None:
            return self.peak_learning_rate
        return float(d_model**-0.5 * self.warmup_steps**-0.5)


@dataclass(frozen=True)
class EarlierEnd:
    """An earlier end of a decay to zero than ``max_steps``, so that it fits into ``max_minutes``.

    The decay goes on from where it was, faster.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    step: Annotated[int, Field(ge=1, lt=2**53)]
    """The step after which it was decided."""
    decayed: Annotated[float, Field(ge=0, le=1)]
    """Share of the steps behind the warm-up that was done at that step, as planned before."""
    last: Annotated[int, Field(ge=1, lt=2**53)]
    """The last step."""
    max_steps: int
    max_minutes: float
    """The limits for which it was decided; it does not hold for others."""

    def holds(self, max_steps: int | None, max_minutes: float | None) -> bool:
        """Whether it was decided for these limits."""
        return (self.max_steps, self.max_minutes) == (max_steps, max_minutes)

    @property
    def story(self) -> str:
        """What was decided, for the user."""
        return (
            f"at this speed {self.max_minutes:g} minutes are enough for {self.last:,} steps: the "
            f"learning rate decays to zero there, and not at max_steps {self.max_steps:,}"
        )


def end_in_time(
    config: ScheduleConfig,
    *,
    step: int,
    seconds: float,
    max_steps: int | None,
    max_minutes: float | None,
    end: EarlierEnd | None,
) -> EarlierEnd | None:
    """The earlier end that a run needs at the speed of its steps so far; None if it needs none.

    During the warm-up nothing is decided.

    Args:
        step: steps taken.
        seconds: time that they took.
        end: what was decided before, if anything.
    """
    if not config.ends_at_zero or max_steps is None or max_minutes is None:
        return None
    if step <= config.warmup_steps:
        return end
    left = (60 * max_minutes - seconds) * step / max(seconds, 1e-9)
    last = min(max_steps, step + max(1, int(left)))
    if abs(last - (max_steps if end is None else end.last)) <= _TOLERANCE * max_steps:
        return end
    decayed = _done(config, step, max_steps, end)
    return EarlierEnd(step, decayed, last, max_steps, max_minutes)


def learning_rate(
    config: ScheduleConfig,
    step: int,
    d_model: int,
    max_steps: int | None,
    end: EarlierEnd | None = None,
) -> float:
    """The learning rate of optimizer step ``step``, counted from 1.

    With the defaults this is equation 3:
    ``d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)``.
    A linear or cosine decay needs ``max_steps``, its end unless there is an earlier one.
    """
    peak, warmup = config.peak(d_model), config.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    if config.decay == "inverse_sqrt":
        return peak * math.sqrt(warmup / step)
    if config.decay == "constant":
        return peak
    assert max_steps is not None, "a decay to zero needs an end"
    progress = _done(config, step, max_steps, end)
    progress = max(0.0, progress - config.hold) / (1 - config.hold)
    if config.decay == "linear":
        return peak * (1 - progress)
    return peak * (1 + math.cos(math.pi * progress)) / 2


def _done(config: ScheduleConfig, step: int, max_steps: int, end: EarlierEnd | None) -> float:
    """The share of the steps behind the warm-up that is done, by the plan that holds then."""
    if end is None or step < end.step:
        start, done, last = config.warmup_steps, 0.0, max_steps
    else:
        start, done, last = end.step, end.decayed, end.last
    return min(1.0, done + (1 - done) * (step - start) / max(1, last - start))


def between_points(points: Mapping[int, float], step: int) -> float:
    """The value at a step: linear between the points, constant before and after them."""
    steps = sorted(points)
    after = bisect_right(steps, step)
    if after in {0, len(steps)}:
        return points[steps[0 if after == 0 else -1]]
    start, end = steps[after - 1], steps[after]
    return points[start] + (points[end] - points[start]) * (step - start) / (end - start)
