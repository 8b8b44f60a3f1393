"""Carries out a comparison: plan, train, translate, score, measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from dragoman.apps.compare.plan import Budget, Planned, plan
from dragoman.apps.compare.speed import Machine, Rehearsal, Speed, measure_speeds, this_machine
from dragoman.apps.runs import prepare_run, train_run
from dragoman.errors import ConfigError, InterruptedRunError
from dragoman.evaluation.metrics import EvaluationConfig, Score, score_corpus
from dragoman.evaluation.significance import Comparison as Difference
from dragoman.evaluation.significance import compare_systems
from dragoman.experiment import ExperimentConfig
from dragoman.files import atomic_write
from dragoman.saved import MODEL_DIRECTORY
from dragoman.text.corpus import CorpusPart, read_pairs
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.distributed import World
from dragoman.translator import Translator

TRANSLATIONS = "translations"
_CONFIDENCE_SAMPLES = 1000


@dataclass(frozen=True)
class Row:
    """One system: a recipe's model, or an ensemble of several."""

    name: str
    members: list[str]
    """Recipes; several of an ensemble."""
    parameters: int
    steps: int
    target_tokens: int
    """Learned from, padding left out; of an ensemble in all."""
    flops: float
    """Of training, as counted."""
    estimated_flops: float
    """Of training as the paper estimates them (Table 2): time times what the device sustains."""
    speed: Speed
    scores: list[Score] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    """To the first row, by metric; empty in the first."""


@dataclass(frozen=True)
class Comparison:
    """All rows, and what they have in common."""

    budget: str
    test: str
    sentences: int
    machine: Machine
    rows: list[Row]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        rows = [
            asdict(row)
            | {
                "scores": [score.to_json() for score in row.scores],
                "differences": [difference.to_json() for difference in row.differences],
            }
            for row in self.rows
        ]
        return asdict(replace(self, rows=[])) | {"rows": rows}


@dataclass(frozen=True)
class _TestSet:
    name: str
    sources: list[str]
    references: list[str]


def compare(
    configs: Mapping[str, ExperimentConfig],
    output: Path,
    budget: Budget,
    *,
    ensembles: Sequence[Sequence[str]] = (),
    test_set: str | None = None,
    only_plan: bool = False,
) -> Comparison | None:
    """Train every recipe under ``budget``, and compare what came of them.

    What was done before in ``output`` is not done again.

    Args:
        configs: recipes by name; the first is what the others are compared with.
        output: where runs and results go.
        budget: what each may spend on training.
        ensembles: of recipes, by name, as further rows.
        test_set: a test set that all recipes have; the first one's first if not given.
        only_plan: begin the runs, to be carried out by 'dragoman resume', and give back None.

    Raises:
        ConfigError: the recipes do not go together, or another comparison was begun here.
        InterruptedRunError: a signal came; the same call goes on.
    """
    test = _read_test_set(configs, test_set)
    for members in ensembles:
        _check_members(members, configs)
    planned = plan(dict(configs), output, budget, prepare_run)
    if only_plan:
        return None
    for one in planned:
        _train(one)
    systems = {one.name: [one] for one in planned}
    systems |= {"+".join(names): [p for p in planned if p.name in names] for names in ensembles}
    return _compare(systems, output, budget, test)


def _read_test_set(configs: Mapping[str, ExperimentConfig], name: str | None) -> _TestSet:
    """The sentences that every system translates."""
    first, *others = configs.values()
    name = name or next(iter(first.data.test), "dev")
    parts = {recipe: _part(config, name) for recipe, config in configs.items()}
    part = parts[next(iter(configs))]
    if part is None:
        known = ", ".join(first.data.test) or "none"
        raise ConfigError(f"--test-set {name}: not among the test sets of the recipe ({known})")
    for (recipe, found), other in zip(list(parts.items())[1:], others, strict=True):
        if found != part:
            raise ConfigError(
                f"{recipe}: its {name} is not the first recipe's; systems compare on the same text"
            )
        if other.evaluation != first.evaluation:
            raise ConfigError(f"{recipe}: evaluation is not the first recipe's; make them equal")
    pairs = [pair for pair in read_pairs(part) if pair.source.strip() and pair.target.strip()]
    return _TestSet(name, [pair.source for pair in pairs], [pair.target for pair in pairs])


def _part(config: ExperimentConfig, name: str) -> CorpusPart | None:
    return config.data.dev if name == "dev" else config.data.test.get(name)


def _check_members(members: Sequence[str], configs: Mapping[str, ExperimentConfig]) -> None:
    for name in members:
        if name not in configs:
            raise ConfigError(
                f"--ensemble {'+'.join(members)}: {name} is not among the recipes: "
                f"{', '.join(configs)}"
            )
    if len(set(members)) < 2:
        raise ConfigError(f"--ensemble {'+'.join(members)}: an ensemble has two members or more")


def _train(planned: Planned) -> None:
    """Train a run that is not finished."""
    run = planned.experiment.run
    if (run / MODEL_DIRECTORY).is_dir():
        return
    click.echo(f"\n{planned.name}", err=True)
    try:
        train_run(planned.experiment, World.join())
    except InterruptedRunError as error:
        raise InterruptedRunError(
            f"{planned.name}: stopped, and everything is saved; give the same command to go on"
        ) from error


def _compare(
    systems: Mapping[str, Sequence[Planned]], output: Path, budget: Budget, test: _TestSet
) -> Comparison:
    translators = {
        name: Translator.load(*(one.experiment.run for one in members))
        for name, members in systems.items()
    }
    hypotheses = {}
    for name, translator in translators.items():
        hypotheses[name] = translator.translate(test.sources)
        with atomic_write(output / TRANSLATIONS / f"{name}.{test.name}") as stream:
            stream.writelines(f"{line}\n" for line in hypotheses[name])
    members = [one for group in systems.values() if len(group) == 1 for one in group]
    machine = this_machine(members[0].experiment.config)
    rehearsals = {
        one.name: Rehearsal(one.experiment.config, one.experiment.prepare()) for one in members
    }
    speeds = measure_speeds(rehearsals, translators, test.sources)
    evaluation = members[0].experiment.config.evaluation
    differences = _differences(hypotheses, test.references, evaluation)
    with_intervals = evaluation.model_copy(update={"confidence_samples": _CONFIDENCE_SAMPLES})
    rows = []
    for name, group in systems.items():
        row = _row(name, group, speeds, machine)
        scores = score_corpus(hypotheses[name], [test.references], with_intervals)
        mine = [difference for difference in differences if difference.system == name]
        rows.append(replace(row, scores=scores, differences=mine))
    return Comparison(str(budget), test.name, len(test.sources), machine, rows)


def _differences(
    hypotheses: Mapping[str, list[str]], references: list[str], evaluation: EvaluationConfig
) -> list[Difference]:
    first, *others = hypotheses
    if not others:
        return []
    systems = {name: hypotheses[name] for name in others}
    return compare_systems(hypotheses[first], systems, [references], evaluation)


def _row(
    name: str, members: Sequence[Planned], speeds: Mapping[str, Speed], machine: Machine
) -> Row:
    """What a system cost; it is not scored yet."""
    learned = [read_progress(checkpoints(one.experiment.run)[-1]) for one in members]
    flops = seconds = 0.0
    for one, progress in zip(members, learned, strict=True):
        flops += one.cost.training_flops(progress.target_tokens)
        speed = speeds[one.name].tokens_per_second
        assert speed is not None, "single models were timed"
        seconds += progress.target_tokens / speed
    return Row(
        name=name,
        members=[one.name for one in members],
        parameters=sum(one.cost.total_parameters for one in members),
        steps=sum(progress.step for progress in learned),
        target_tokens=sum(progress.target_tokens for progress in learned),
        flops=flops,
        estimated_flops=seconds * machine.peak,
        speed=speeds[name],
    )
