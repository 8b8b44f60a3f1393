"""Bounds on what a dev set may lose, such as general text while a model adapts to a domain.

Losses count from a validation before the first step, or from a given score.
Training warns once when a set comes near its bound.  Weights outside a bound become the model only
if there are no others.  Training ends when a set stays outside for several validations in a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from dragoman.core.config import Config
from dragoman.evaluation.metrics import higher_is_better

NEAR = 0.7
"""A bound is near once a set has lost more than this share of what it may lose."""
NAMES = {"bleu": "BLEU", "chrf": "chrF", "loss": "loss"}


class BoundConfig(Config):
    """Bound on how much worse the score of a dev set may become than before the first step.

    The set then takes no part in the mean that selects the best checkpoint.
    """

    may_lose: float = Field(ge=0, le=1000)
    """How much worse the score may become, in points, or for the loss in nats per token. Weights
    that lose more never become the model."""
    metric: Literal["chrf", "bleu", "loss"] = "chrf"
    """The score."""
    patience: int = Field(2, ge=0)
    """Number of validations in a row that may be outside of the bound, since scores of small sets
    vary and losses may be regained. One more ends training."""
    before: float | None = Field(None, ge=0, le=1000)
    """Score from which losses count, such as that of another model; by default, that of a
    validation before the first step. If no weights of the training are within the bound, those
    before the first step become the model."""

    def lost(self, before: float, now: float) -> float:
        """How much worse ``now`` is than ``before``; negative if it is better."""
        return before - now if higher_is_better(self.metric) else now - before


Bounds = Mapping[str, BoundConfig]
"""Bounds by the names of dev sets in ``data.dev``."""


def figure_of(name: str, bound: BoundConfig) -> str:
    """The name that validation gives to the bounded score of a dev set."""
    return f"{bound.metric}/dev_{name}"


@dataclass
class Watched:
    """The bounded scores so far, by the names of their dev sets."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    before: dict[str, float]
    """Scores before the first step, or as given in the bounds."""
    newest: dict[str, float]
    """Scores at the newest validation; a NaN or infinite loss is outside any bound."""
    kept_step: Annotated[int, Field(ge=0, lt=2**53)] | None = 0
    """The newest validated step within all bounds; None if not even the start was."""
    outside: dict[str, Annotated[int, Field(ge=0, lt=2**53)]] = field(default_factory=dict)
    """Number of validations in a row, up to the newest, outside each bound; 0 is left out."""
    neared: dict[str, Annotated[int, Field(ge=0, lt=2**53)]] = field(default_factory=dict)
    """The step at which each bound was first near or passed; other bounds are left out."""

    @classmethod
    def begin(cls, bounds: Bounds, figures: Mapping[str, float]) -> Watched:
        """Scores from the figures of the validation before the first step."""
        scores = _scores(bounds, figures)
        given = {n: bound.before for n, bound in bounds.items() if bound.before is not None}
        watched = cls(scores | given, scores)
        if watched.passed(bounds):
            watched.kept_step = None
        return watched

    def see(self, bounds: Bounds, figures: Mapping[str, float], step: int) -> None:
        """Record the figures of a validation."""
        self.newest = _scores(bounds, figures)
        passed = self.passed(bounds)
        self.outside = {name: self.outside.get(name, 0) + 1 for name in passed}
        for name in self._beyond(NEAR, bounds):
            self.neared.setdefault(name, step)
        if not passed:
            self.kept_step = step

    def is_lost(self, bounds: Bounds) -> bool:
        """Whether a dev set has been outside of its bound for longer than its patience."""
        return any(self.outside.get(name, 0) > bound.patience for name, bound in bounds.items())

    def passed(self, bounds: Bounds) -> list[str]:
        """The dev sets that have lost more than they may."""
        return self._beyond(1.0, bounds)

    def came_near(self, bounds: Bounds, step: int) -> list[str]:
        """The dev sets that came near their bounds for the first time, at this step."""
        passed = self.passed(bounds)
        return [name for name, first in self.neared.items() if first == step and name not in passed]

    def _beyond(self, share: float, bounds: Bounds) -> list[str]:
        """The dev sets that have lost more than a share of what they may."""
        lost = {n: bound.lost(self.before[n], self.newest[n]) for n, bound in bounds.items()}
        return [
            name
            for name, bound in bounds.items()
            # Rounded, so that a loss of exactly the share is within it; NaN is outside.
            if not round(lost[name] - share * bound.may_lose, 9) <= 0
        ]

    def story(self, bounds: Bounds, names: Collection[str]) -> str:
        """The losses of some dev sets, such as "general: chrF 54.1 -> 52.9, may lose 1"."""
        return "; ".join(
            f"{name}: {NAMES[bounds[name].metric]} {self.before[name]:.2f} -> "
            f"{self.newest[name]:.2f}, may lose {bounds[name].may_lose:g}"
            for name in names
        )


def watch(
    watched: Watched | None,
    bounds: Bounds,
    figures: Mapping[str, float],
    step: int,
    best: int | None,
) -> tuple[Watched, list[str]]:
    """Record a validation and warn of sets near or outside their bounds.

    ``best`` is the step whose weights become the model, if the best validation so far chooses it.
    """
    if watched is None:
        watched = Watched.begin(bounds, figures)
        story = watched.story(bounds, watched.passed(bounds))
        return watched, [f"training.bounds: outside before the first step: {story}"] * bool(story)
    watched.see(bounds, figures, step)
    warnings = []
    if near := watched.came_near(bounds, step):
        warnings.append(f"training.bounds: near at step {step}: {watched.story(bounds, near)}")
    if passed := watched.passed(bounds):
        kept = watched.kept_step if best is None else best
        ends = watched.is_lost(bounds)
        within = "no step was within" if kept is None else f"the best within is step {kept}"
        warnings.append(
            f"training.bounds: {'stopped' if ends else 'outside'} at step {step}: "
            f"{watched.story(bounds, passed)}; {within if ends else 'training goes on for now'}"
        )
    return watched, warnings


def _scores(bounds: Bounds, figures: Mapping[str, float]) -> dict[str, float]:
    return {name: float(figures[figure_of(name, bound)]) for name, bound in bounds.items()}


def unfit_bounds(
    bounds: Bounds,
    sets: Collection[str],
    metrics: Collection[str],
    averaged: int,
    trips: Collection[str] = (),
) -> Iterator[str]:
    """Bounds of sets that do not exist or lack the score, and models from unwatched weights.

    Args:
        bounds: by name.
        sets: names of the dev sets in ``data.dev``; empty if there is only one set.
        metrics: of ``evaluation``.
        averaged: number of checkpoints to average into the model.
        trips: the sets that are only scored by translating there and back.
    """
    if not bounds:
        return
    for name, bound in bounds.items():
        if name not in sets:
            there = f"names there: {', '.join(sets)}" if sets else "give data.dev sets by name"
            yield f"training.bounds.{name}: no dev set in data.dev has this name; {there}"
        if bound.metric != "loss" and name in trips:
            yield (
                f"training.bounds.{name}: the set has back_translation, and no {bound.metric} of "
                "its own; set metric: loss"
            )
        elif bound.metric != "loss" and bound.metric not in metrics:
            yield (
                f"training.bounds.{name}: {bound.metric} is not among evaluation.metrics; add it "
                "there, or set metric: loss"
            )
    if not set(sets) - bounds.keys() and sets:
        yield (
            "training.bounds: every dev set is bounded, and none selects the best checkpoint; add "
            "one without a bound"
        )
    if averaged > 1:
        yield (
            f"training.average_checkpoints: {averaged} checkpoints would be averaged, and "
            "training.bounds watches single ones; set it to 0 (the best) or 1 (the newest)"
        )
