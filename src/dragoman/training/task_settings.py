"""The settings of a task: the section ``training.tasks.NAME``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated

from pydantic import Field

from dragoman.core.config import Config
from dragoman.training.objectives.choice import AnyObjective
from dragoman.training.schedule import between_points

Weight = Annotated[float, Field(ge=0, le=1e6)]


class TaskConfig(Config):
    """Settings of a task, which learns from the parts of `data.train` that name it."""

    weight: Weight | dict[Annotated[int, Field(ge=0)], Weight] = 1.0
    """Weight of a target token relative to those of other tasks: a number, or numbers by step, such
    as `{0: 1, 3000: 0.1}`, with linear interpolation between them, the first number before and the
    last one after them. While the weight is 0 nothing is learned from the task."""
    objective: AnyObjective | None = None
    """The loss of this task; by default `training.objective`."""

    def conflicts(self) -> Iterator[str]:
        """A weight that is never above 0."""
        weights = self.weight.values() if isinstance(self.weight, dict) else [self.weight]
        if not any(weights):
            yield "weight is never above 0; remove the task and its text"

    @property
    def weights(self) -> dict[int, float]:
        """The weight by step: the points between which it changes linearly."""
        return self.weight if isinstance(self.weight, dict) else {0: self.weight}


def task_problems(tasks: Mapping[str, TaskConfig], used: Collection[str]) -> Iterator[str]:
    """Settings of tasks without text, and steps in which nothing would be learned.

    Args:
        tasks: settings by name.
        used: names of the tasks that have text.
    """
    for name in tasks:
        if name not in used:
            yield (
                f"training.tasks.{name}: no part of data.train has task: {name}; tasks there: "
                f"{', '.join(used)}"
            )
        elif (objective := tasks[name].objective) is not None and objective.reads_alignments:
            yield (
                f"training.tasks.{name}.objective: {objective.kind} learns from all pairs or none; "
                "set it in training.objective"
            )
    points = [tasks[name].weights if name in tasks else {0: 1.0} for name in used]
    # A sum of piecewise linear weights, nowhere below 0, vanishes at one of the points or nowhere.
    for step in sorted({max(step, 1) for one in points for step in one}):
        if not any(between_points(one, step) for one in points):
            yield f"training.tasks: every weight is 0 at step {step}; raise one of them there"
            return
