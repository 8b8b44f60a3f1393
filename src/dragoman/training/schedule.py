"""Values that change over the steps: learning rate (Vaswani et al. 2017, section 5.3), weights."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from dragoman.core.config import Config


class ScheduleConfig(Config):
    """Linear warm-up to a peak, then decay."""

    warmup_steps: int = Field(4000, ge=1)
    """Warm-up steps, over which the rate rises linearly to its peak."""
    peak_learning_rate: float | None = Field(None, gt=0)
    """Learning rate at the end of the warm-up. By default d_model^-0.5 * warmup_steps^-0.5
    (equation 3)."""
    decay: Literal["inverse_sqrt", "linear", "cosine", "constant"] = "inverse_sqrt"
    """How the rate decays after the warm-up: with the inverse square root of the step (the paper),
    to zero at max_steps (linear or cosine; the last step changes nothing, unless it is one of the
    warm-up), or not at all."""

    def peak(self, d_model: int) -> float:
        """The highest rate, for a model of width ``d_model``."""
        if self.peak_learning_rate is not None:
            return self.peak_learning_rate
        return float(d_model**-0.5 * self.warmup_steps**-0.5)


def learning_rate(config: ScheduleConfig, step: int, d_model: int, max_steps: int | None) -> float:
    """The learning rate of optimizer step ``step``, counted from 1.

    With the defaults this is equation 3:
    ``d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)``.
    A linear or cosine decay needs ``max_steps``, its end.
    """
    peak, warmup = config.peak(d_model), config.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    if config.decay == "inverse_sqrt":
        return peak * math.sqrt(warmup / step)
    if config.decay == "constant":
        return peak
    assert max_steps is not None, "a decay to zero needs an end"
    progress = min(1.0, (step - warmup) / max(1, max_steps - warmup))
    if config.decay == "linear":
        return peak * (1 - progress)
    return peak * (1 + math.cos(math.pi * progress)) / 2


def between_points(points: Mapping[int, float], step: int) -> float:
    """The value at a step: linear between the points, constant before and after them."""
    steps = sorted(points)
    after = bisect_right(steps, step)
    if after in {0, len(steps)}:
        return points[steps[0 if after == 0 else -1]]
    start, end = steps[after - 1], steps[after]
    return points[start] + (points[end] - points[start]) * (step - start) / (end - start)
