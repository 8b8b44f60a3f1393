"""The same budget for every recipe: operations or minutes become steps of training.

A budget covers training steps only.  Operations are counted at the mean lengths of the training
text, without padding.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path

from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import read_json, storage_errors, write_json
from dragoman.experiment import Experiment
from dragoman.models.cost import Cost, cost
from dragoman.recipe import ExperimentConfig
from dragoman.run.parents import completed
from dragoman.run.prepared_text import Prepared
from dragoman.run.revision import as_decided
from dragoman.run.run_directory import begin, is_run
from dragoman.saved.model import CONFIG_FILE
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.distributed import World
from dragoman.workflows.compare.speed import rehearsal_of
from dragoman.workflows.progress import tell

log = logging.getLogger(__name__)

BUDGET_FILE = "budget.json"
CALIBRATION_SECONDS = 15.0
_COUNTED_STEPS = 200


@dataclass(frozen=True)
class Budget:
    """Limit of each recipe's training; with neither, the recipe's limits apply."""

    flops: float | None = None
    minutes: float | None = None

    def __str__(self) -> str:
        if self.flops is not None:
            return f"{self.flops:.3g} training FLOPs each"
        if self.minutes is not None:
            return f"{self.minutes:g} minutes of training each"
        return "each recipe's own limits"


@dataclass(frozen=True)
class Planned:
    """A recipe, its run, and the cost of a step."""

    name: str
    experiment: Experiment
    cost: Cost
    tokens_per_step: float
    """Target tokens, padding excluded."""
    vocabularies: Vocabularies


Prepare = Callable[[Experiment], Prepared]


def _check_budget(output: Path, budget: Budget) -> None:
    path = output / BUDGET_FILE
    if not path.exists():
        _check_empty(output)
        return
    try:
        present = Budget(**read_json(path))
    except (ValueError, TypeError) as error:
        raise SavedError(f"{path}: damaged; choose another --output") from error
    if present != budget:
        raise ConfigError(
            f"{output}: a comparison with {present} was begun here; resume it with that budget or "
            "choose another --output"
        )


def _check_empty(output: Path) -> None:
    """Refuse a directory with files that are not left by an earlier failed attempt."""
    with storage_errors(output):
        names = os.listdir(output) if output.exists() else []
    strangers = [name for name in names if not name.startswith(".") and not is_run(output / name)]
    if strangers:
        raise ConfigError(
            f"{output}: holds {min(strangers)} and is not a comparison; choose a new or empty "
            "directory with --output"
        )


def plan(
    configs: dict[str, ExperimentConfig], output: Path, budget: Budget, prepare: Prepare
) -> list[Planned]:
    """Runs of all recipes, created where missing.

    Args:
        output: parent directory of the runs, each in a directory of its recipe's name.
        prepare: prepares text and vocabularies of a run.
    """
    _check_budget(output, budget)
    return [_plan(name, config, output, budget, prepare) for name, config in configs.items()]


def _plan(
    name: str, config: ExperimentConfig, output: Path, budget: Budget, prepare: Prepare
) -> Planned:
    run = output / name
    config = completed(config)
    if budget != Budget():
        config = _limited(config, None)
    with begin(run):
        begun = (run / CONFIG_FILE).exists()
        if begun:
            experiment = Experiment.open(run)
            _check_same(experiment.config, config, budget, run)
        else:
            experiment = Experiment(config, run)
        tell(f"{name}: preparing its text")
        prepared = prepare(experiment)
        tokens, counted = _tokens_per_step(experiment, prepared), _cost(config, prepared)
        if not begun:
            if budget.minutes is not None:
                tell(f"{name}: measuring its training speed for {CALIBRATION_SECONDS:g} seconds")
            steps = _steps(experiment, prepared, budget, counted, tokens)
            write_json(output / BUDGET_FILE, asdict(budget))
            experiment = Experiment.create(_limited(config, steps) if steps else config, run)
            _warn_of_a_short_schedule(name, experiment.config)
    return Planned(name, experiment, counted, tokens, prepared.vocabularies)


def _limited(config: ExperimentConfig, steps: int | None) -> ExperimentConfig:
    """The recipe with ``steps`` as its only limit."""
    limits: dict[str, int | None] = {"max_minutes": None, "max_epochs": None, "patience": None}
    if steps is not None:
        limits["max_steps"] = steps
    training = config.training.model_copy(update=limits)
    return config.model_copy(update={"training": training})


def _check_same(
    present: ExperimentConfig, wanted: ExperimentConfig, budget: Budget, run: Path
) -> None:
    steps = present.training.max_steps
    wanted = as_decided(wanted, present)
    if present != (wanted if budget == Budget() else _limited(wanted, steps)):
        raise ConfigError(
            f"{run}: its recipe changed since it was begun; choose another --output, or remove "
            "this run to start from scratch"
        )


def _steps(
    experiment: Experiment, prepared: Prepared, budget: Budget, counted: Cost, tokens: float
) -> int | None:
    if budget.flops is not None:
        steps = budget.flops / (counted.flops_per_target_token * tokens)
    elif budget.minutes is not None:
        speed = rehearsal_of(experiment, prepared).tokens_per_second(CALIBRATION_SECONDS)
        steps = 60 * budget.minutes * speed / tokens
    else:
        return None
    if steps < 1:
        raise ConfigError(f"a budget of {budget} is less than one step of training; raise it")
    return round(steps)


def _tokens_per_step(experiment: Experiment, prepared: Prepared) -> float:
    """The mean over the first steps of an epoch, as windows may end with smaller steps."""
    stream = experiment.tasks(prepared, World.alone())[0].stream
    steps = chain.from_iterable(stream.window(0, window) for window in range(stream.windows(0)))
    sizes = [sum(b.target_tokens for b in step) for step in islice(steps, _COUNTED_STEPS)]
    if not sizes:
        raise ConfigError(
            "data.train: the first epoch shows no pair; raise the weights until each shows some"
        )
    return sum(sizes) / len(sizes)


def _cost(config: ExperimentConfig, prepared: Prepared) -> Cost:
    """The cost at the mean lengths of the training text."""
    store, vocabularies = prepared.store, prepared.vocabularies
    source, target = (
        max(1, round(float(lengths.mean()))) + 1
        for lengths in (store.source_lengths, store.target_lengths)
    )
    return cost(config.model, len(vocabularies.source), len(vocabularies.target), source, target)


def _warn_of_a_short_schedule(name: str, config: ExperimentConfig) -> None:
    training = config.training
    steps, warmup = training.max_steps, training.schedule.warmup_steps
    averaged = training.averaged * training.checkpoint_steps
    if steps is not None and warmup > steps / 2:
        log.warning(
            "%s: the learning rate rises for %d of %d steps; lower training.schedule.warmup_steps",
            name,
            min(warmup, steps),
            steps,
        )
    if steps is not None and averaged > steps / 2:
        log.warning(
            "%s: the average of %d checkpoints spans more than half of %d steps; lower "
            "training.checkpoint_steps",
            name,
            training.averaged,
            steps,
        )
