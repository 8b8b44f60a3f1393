"""The weights and the length penalty that a finished run keeps.

The dev sets decide between a few candidates, unless the recipe does.  That costs at most one more
evaluation on the dev sets for each further candidate, one for another length penalty, and
:data:`TRIAL_LINES` lines of each dev set for each length penalty that is tried.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.evaluation.metrics import is_better
from dragoman.recipe import ExperimentConfig
from dragoman.run.set_scoring import SetScorer, validation_of
from dragoman.run.weight_interpolation import best_between, step_outside
from dragoman.saved.weights import WEIGHTS_FILE, average_weights
from dragoman.training.checkpoint import (
    chosen_checkpoints,
    moving_average,
    path_of,
    read_progress,
    step_of,
)
from dragoman.validation import Evaluated, Report, figures, mean_figures

log = logging.getLogger(__name__)

TRIAL_LINES = 200
"""Most lines of each dev set that are translated with each length penalty."""
LEAST_LINES = 100
"""Fewest lines of all dev sets that length penalties are compared on."""
LEAST_GAIN = 0.5
"""By how many points another length penalty must be better."""
_ROUNDING = 0.02
"""How much the same weights differ between bfloat16 in training and float32 here."""


@dataclass(frozen=True)
class Candidate:
    """Checkpoints that may become the model."""

    name: str
    """Such as ``mean of 5 checkpoints``."""
    steps: tuple[int, ...]
    """Of the checkpoints, ascending."""
    is_moving_average: bool = False
    """Whether it is the moving average that the only checkpoint holds."""

    def weights(self, run: Path) -> dict[str, Tensor]:
        """Weights by name, with an adapter's factors unmerged."""
        paths = [path_of(run, step) for step in self.steps]
        learned = average_weights(path / WEIGHTS_FILE for path in paths)
        if self.is_moving_average:
            learned |= moving_average(paths[-1])
        return learned


@dataclass(frozen=True)
class PenaltyTrial:
    """A length penalty on samples of the dev sets."""

    score: float
    lowers: tuple[str, ...] = ()
    """Metrics that it lowers, which rules it out."""


@dataclass(frozen=True)
class ChosenModel:
    """The weights that become the model of a run, and how they were chosen."""

    candidate: Candidate
    weights: dict[str, Tensor]
    """Weights by name, with an adapter's factors unmerged."""
    dev: dict[str, Evaluated]
    """The dev sets, scored."""
    config: ExperimentConfig
    """That of the run, with the length penalty that is kept."""
    share: float | None = None
    """Position between the first of two checkpoints and the second; None for their mean."""
    scores: dict[str, float] = field(default_factory=dict)
    """Dev scores of the candidates by their names; empty if there was only one."""
    penalties: dict[float, PenaltyTrial] = field(default_factory=dict)
    """The length penalties that were tried; empty if none was."""

    def steps(self) -> list[int]:
        """Of the checkpoints that the weights are made from, ascending."""
        return list(self.candidate.steps)

    def reports(self) -> dict[str, Report]:
        """Reports of the dev sets."""
        return reports_of(self.dev)

    def to_json(self) -> dict[str, Any]:
        """How they were chosen, as plain values."""
        training = self.config.training
        return {
            "metric": training.best_metric,
            "candidates": [
                {"name": name, "score": score, "chosen": name == self.candidate.name}
                for name, score in self.scores.items()
            ],
            "length_penalties": [
                {
                    "length_penalty": penalty,
                    "score": trial.score,
                    "lowers": list(trial.lowers),
                    "chosen": penalty == self.config.search.length_penalty,
                }
                for penalty, trial in self.penalties.items()
            ],
        }


def reports_of(evaluated: dict[str, Evaluated]) -> dict[str, Report]:
    """The reports of sets, without translations."""
    return {name: one.report for name, one in evaluated.items()}


def make_model(score: SetScorer) -> ChosenModel:
    """The weights that the configuration selects, or that the dev sets do, scored on these."""
    config, run = score.config, score.run
    newest = score.world.broadcast(lambda: step_outside(config, run))
    if newest is None:
        return _with_best_penalty(score, _best_candidate(score))
    made = _best_candidate(score)
    return _with_best_penalty(score, _between(score, made, newest) or made)


def _candidates(config: ExperimentConfig, run: Path) -> Iterator[Candidate]:
    """The candidates; the first is what the recipe selects, or a mean."""
    training = config.training

    def chosen(count: int) -> tuple[int, ...]:
        return tuple(map(step_of, chosen_checkpoints(run, count, training.best_metric)))

    steps = chosen(training.averaged)
    if training.ema_decay is not None:
        newest = chosen(min(1, training.averaged))
        yield Candidate(_named("moving average", newest), newest, is_moving_average=True)
    else:
        yield Candidate(_named("checkpoint", steps), steps)
    if training.average_checkpoints != "dev" or training.bounds:
        return
    best = chosen(0)
    if training.ema_decay is not None:
        yield Candidate(_named("moving average", best), best, is_moving_average=True)
        yield Candidate(_named("checkpoint", steps), steps)
    else:
        yield Candidate(_named("checkpoint", best), best)


def _named(what: str, steps: tuple[int, ...]) -> str:
    if len(steps) > 1:
        return f"mean of {len(steps)} checkpoints"
    return f"{what} of step {steps[0]:,}"


def _best_candidate(score: SetScorer) -> ChosenModel:
    """The candidate with the best dev score; of equal ones, the first."""
    config, run, metric = score.config, score.run, score.config.training.best_metric

    def listed() -> list[tuple[str, tuple[int, ...], bool]]:
        found = dict.fromkeys(_candidates(config, run))
        return [(one.name, one.steps, one.is_moving_average) for one in found]

    first, *others = (
        Candidate(name, tuple(steps), average)
        for name, steps, average in score.world.broadcast(listed)
    )
    made = _scored(score, first)
    value = score.selected_by(made.reports())
    if not others or value is None:
        _warn_of_a_bad_mean(score, made)
        return made
    scores = {first.name: value}
    for one in others:
        before = _validated(score, one)
        if before is not None and is_better(metric, scores[made.candidate.name], before, _ROUNDING):
            scores[one.name] = before  # clearly worse, so it need not be scored again
            continue
        other = _scored(score, one)
        found = score.selected_by(other.reports())
        assert found is not None, "the first candidate had one"
        scores[one.name] = found
        if is_better(metric, found, scores[made.candidate.name]):
            made = other
    return replace(made, scores=scores)


def _validated(score: SetScorer, one: Candidate) -> float | None:
    """The dev score of a candidate in training, if it was the best that was validated."""
    best = score.world.broadcast(lambda: _best_of(score.run))
    same_kind = one.is_moving_average == (score.config.training.ema_decay is not None)
    wanted = [score.config.training.best_metric, [*one.steps]]
    if best is None or not same_kind or [best[0], best[2:]] != wanted:
        return None
    return float(best[1])


def _best_of(run: Path) -> list[Any] | None:
    """Metric, value and step of the best validation."""
    (newest,) = chosen_checkpoints(run, 1)
    best = read_progress(newest).best
    return None if best is None else [best.metric, best.value, best.step]


def _scored(score: SetScorer, one: Candidate) -> ChosenModel:
    weights = one.weights(score.run)
    dev = score(weights, score.config.dev_sets(), f"the {one.name}")
    return ChosenModel(one, weights, dev, score.config)


def _between(score: SetScorer, made: ChosenModel, newest: int) -> ChosenModel | None:
    """Weights between the first and the newest checkpoint, if they are better."""
    config, run, dev = score.config, score.run, score.config.dev_sets()
    tried: list[tuple[dict[str, Tensor], dict[str, Evaluated]]] = []

    def scored(weights: dict[str, Tensor], what: str) -> dict[str, Report]:
        tried.append((weights, score(weights, dev, what)))
        return reports_of(tried[-1][1])

    between = best_between(config, run, newest, made.reports(), scored)
    if between is None:
        return None
    (evaluated,) = (found for weights, found in tried if weights is between.weights)
    ends = Candidate(f"weights {between.share:.0%} of the way to step {newest:,}", (0, newest))
    return ChosenModel(ends, between.weights, evaluated, config, between.share)


def _with_best_penalty(score: SetScorer, made: ChosenModel) -> ChosenModel:
    """The weights with the length penalty that is clearly best on samples of the dev sets.

    One that lowers another metric is not taken: chrF alone may prefer outputs that ramble.
    """
    config, metric = score.config, _penalty_metric(score.config)
    if metric is None or not config.length_penalties:
        return made
    own, metrics = config.search.length_penalty, config.evaluation.metrics
    means = _penalty_scores(score, made, (own, *config.length_penalties))
    if not means:
        return made
    trials = {
        penalty: PenaltyTrial(
            found[metric],
            tuple(name for name in metrics if is_better(name, means[own][name], found[name])),
        )
        for penalty, found in means.items()
    }
    made, best = replace(made, penalties=trials), own
    for penalty, trial in trials.items():
        if not trial.lowers and is_better(metric, trial.score, trials[best].score):
            best = penalty
    if abs(trials[best].score - trials[own].score) < LEAST_GAIN:
        return made
    search = config.search.model_copy(update={"length_penalty": best})
    config = config.model_copy(update={"search": search})
    dev = replace(score, config=config)(made.weights, config.dev_sets())
    return replace(made, dev=dev, config=config)


def _penalty_scores(
    score: SetScorer, made: ChosenModel, penalties: Sequence[float]
) -> dict[float, dict[str, float]]:
    """Mean figures over samples of the dev sets by length penalty; empty if these are small."""
    config, apart = score.config, score.config.bounded_sets()
    sets = {
        name: validation_of(config, part, score.vocabularies, score.world)
        for name, part in config.dev_sets().items()
        if name not in apart and config.back_tags(part) is None
    }
    sizes = {name: min(TRIAL_LINES, len(one.references)) for name, one in sets.items()}
    if sum(sizes.values()) < LEAST_LINES:
        return {}
    model = score.model_of(made.weights)
    scores: dict[float, dict[str, dict[str, float]]] = {penalty: {} for penalty in penalties}
    for name, validation in sets.items():
        if score.world.is_leader:
            listed = ", ".join(f"{penalty:g}" for penalty in penalties)
            score.tell(f"length penalties {listed} on {name}: {sizes[name]:,} sentences")
        for penalty, found in scores.items():
            options = {"length_penalty": penalty}
            found[name] = validation.sample_scores(model, TRIAL_LINES, **options)
    return {penalty: mean_figures(found) for penalty, found in scores.items()}


def _penalty_metric(config: ExperimentConfig) -> str | None:
    """The metric of translations that selects, or else the first; None without any."""
    metrics, selecting = config.evaluation.metrics, config.training.best_metric
    if selecting in metrics:
        return selecting
    return metrics[0] if metrics else None


def _warn_of_a_bad_mean(score: SetScorer, made: ChosenModel) -> None:
    """Warn if weights are far apart: their mean is poor, which would otherwise go unnoticed."""
    config, run, steps = score.config, score.run, made.steps()
    if not score.world.is_leader:
        return
    apart, reports = config.bounded_sets(), made.reports()
    dev = mean_figures(
        {name: figures(reports[name]) for name in config.dev_sets() if name not in apart}
    )
    best = read_progress(path_of(run, steps[-1])).best
    if best is None or best.metric not in dev or steps == [best.step]:
        return
    value = dev[best.metric]
    if not is_better(best.metric, best.value, value, margin=_ROUNDING):
        return
    if config.training.ema_decay is not None:
        log.warning(
            "the moving average of step %d has a dev %s of %.4g, that of step %d %.4g; take that "
            "one with: dragoman resume %s --set training.average_checkpoints=0",
            *(steps[-1], best.metric, value, best.step, best.value, run),
        )
        return
    log.warning(
        "the mean of %d checkpoints has a dev %s of %.4g, the checkpoint of step %d alone "
        "%.4g; make a model from that one with: dragoman average %s --output MODEL",
        *(len(steps), best.metric, value, best.step, best.value, path_of(run, best.step)),
    )
