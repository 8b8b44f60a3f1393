"""Carrying out a comparison: plan, train, translate, score, measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.core.errors import ConfigError, InterruptedRunError, SavedError
from dragoman.core.files import atomic_write
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    Score,
    SourceSide,
    check_references,
    perplexity,
    score_corpus,
)
from dragoman.evaluation.significance import SignificanceConfig, SignificanceTest, compare_systems
from dragoman.recipe import ExperimentConfig
from dragoman.run.run_directory import claim
from dragoman.saved.model import has_model
from dragoman.saved.system_parts import UNPROTECTED
from dragoman.training.checkpoint import Progress, checkpoints, read_progress
from dragoman.training.distributed import World
from dragoman.translation.outputs import total
from dragoman.translation.translator import Translator
from dragoman.validation import source_side
from dragoman.workflows.compare.common_text import CommonTest, read_common_test
from dragoman.workflows.compare.plan import Budget, Planned, plan
from dragoman.workflows.compare.speed import (
    ROUNDS,
    Machine,
    Speed,
    measure_speeds,
    precision_of,
    this_machine,
)
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.runs import check_one_process, prepare_run, train_run
from dragoman.workflows.trackers.tracking import NO_TRACKING, Tracking

TRANSLATIONS = "translations"
_CONFIDENCE_SAMPLES = 1000


@dataclass(frozen=True)
class ComparisonRow:
    """One system: a recipe's model, or an ensemble of several."""

    name: str
    members: list[str]
    """Recipes; several for an ensemble."""
    parameters: int
    steps: int
    target_tokens: int
    """Target tokens trained on, without padding; for an ensemble, the sum."""
    flops: float
    """FLOPs of training, counted."""
    estimated_flops: float
    """FLOPs of training as estimated in the paper (Table 2): time times the device's peak rate."""
    speed: Speed
    perplexity: float
    """Perplexity of the references per piece; comparable only within one vocabulary."""
    scores: list[Score] = field(default_factory=list)
    differences: list[SignificanceTest] = field(default_factory=list)
    """Differences from the first row, by metric; empty in the first row."""


@dataclass(frozen=True)
class Comparison:
    """All rows, and their common properties."""

    budget: str
    test: str
    sentences: int
    machine: Machine
    rows: list[ComparisonRow]

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
class Contest:
    """Recipes whose runs were created for one budget; :meth:`carry_out` does the rest."""

    output: Path
    budget: Budget
    test: CommonTest
    systems: dict[str, list[Planned]]
    """The systems, the first compared with all others; several runs form an ensemble."""

    @classmethod
    def begin(
        cls,
        configs: Mapping[str, ExperimentConfig],
        output: Path,
        budget: Budget,
        *,
        ensembles: Sequence[Sequence[str]] = (),
        test_set: str | None = None,
    ) -> Contest:
        """Create the run of every recipe, or open an existing one; nothing is trained yet.

        Args:
            ensembles: of recipes, by name, as additional systems.
            test_set: a test set that all recipes have; by default the first of the first recipe.
        """
        test = read_common_test(configs, test_set)
        tell(f"{len(test.references[0]):,} sentences of {test.name} to be translated by all")
        for members in ensembles:
            _check_members(members, configs, test)
        check_one_process("compare trains")
        evaluation = _evaluation(next(iter(configs.values())), test)
        # Now rather than after all trainings.
        for references in test.references:
            check_references(references, evaluation, _source(test, evaluation))
        planned = {
            recipe.name: recipe for recipe in plan(dict(configs), output, budget, prepare_run)
        }
        systems = {recipe.name: [recipe] for recipe in planned.values()}
        systems |= {"+".join(names): [planned[name] for name in names] for names in ensembles}
        _check_vocabularies(systems)
        return cls(output, budget, test, systems)

    @property
    def recipes(self) -> list[Planned]:
        """The recipes to train."""
        return [members[0] for members in self.systems.values() if len(members) == 1]

    def carry_out(self, tracking: Tracking = NO_TRACKING) -> Comparison:
        """Train the unfinished runs, shown in trackers, and compare all systems."""
        recipes = self.recipes
        for number, recipe in enumerate(recipes, 1):
            _train(recipe, f"{recipe.name} ({number} of {len(recipes)})", tracking)
        return _compare(self.systems, self.output, self.budget, self.test)


def _check_members(
    members: Sequence[str], configs: Mapping[str, ExperimentConfig], test: CommonTest
) -> None:
    label = f"--ensemble {'+'.join(members)}"
    for name in members:
        if name not in configs:
            raise ConfigError(f"{label}: {name} is not among the recipes: {', '.join(configs)}")
    if len(set(members)) < len(members) or len(members) < 2:
        raise ConfigError(f"{label}: an ensemble has two or more members, each only once")
    first, *others = [(test.sources[name], test.targets[name]) for name in members]
    if any(text != first for text in others):
        raise ConfigError(
            f"{label}: its members read {test.name} with different tags, transforms or context; an "
            "ensemble reads one source, so make them equal"
        )


def _check_vocabularies(systems: Mapping[str, Sequence[Planned]]) -> None:
    for name, members in systems.items():
        if len({member.vocabularies.fingerprints for member in members}) > 1:
            raise ConfigError(
                f"--ensemble {name}: its members have different vocabularies; give the recipes the "
                "same text, vocabulary section and seed, or vocabulary: {of: RUN}"
            )


def _train(planned: Planned, label: str, tracking: Tracking) -> None:
    if has_model(planned.experiment.run):
        tell(f"{label}: already trained")
        return
    tell(f"{label}: training")
    try:
        with claim(planned.experiment.run):
            train_run(planned.experiment, World.join(), tracking)
    except InterruptedRunError as error:
        stopped = InterruptedRunError(
            f"{planned.name}: stopped; everything is saved; repeat the command to continue"
        )
        stopped.exit_code = error.exit_code
        raise stopped from error


def _compare(
    systems: Mapping[str, Sequence[Planned]], output: Path, budget: Budget, test: CommonTest
) -> Comparison:
    runs = {name: [member.experiment for member in members] for name, members in systems.items()}
    # The members of an ensemble read the same.
    sources = {name: test.sources[members[0].name] for name, members in systems.items()}
    translated = {
        name: _translate(name, members, output, test) for name, members in systems.items()
    }
    evaluation = _evaluation(next(iter(runs.values()))[0].config, test)
    judged = _judge(
        {name: member.hypotheses for name, member in translated.items()}, test, evaluation
    )
    precisions = [precision_of(member.config) for members in runs.values() for member in members]
    tell("measuring the machine, and in turns the speed of training and translation")
    machine = this_machine(precisions)
    with counting("measuring", "turns", ROUNDS * len(runs)) as count:
        speeds = measure_speeds(runs, sources, progress=count)
    rows = [
        replace(
            _row(name, group, translated[name].perplexity, speeds, machine),
            scores=judged[name].scores,
            differences=judged[name].differences,
        )
        for name, group in systems.items()
    ]
    return Comparison(str(budget), test.name, len(test.references[0]), machine, rows)


def _evaluation(config: ExperimentConfig, test: CommonTest) -> EvaluationConfig:
    """Evaluation settings for the test set: those of the recipe, with intervals."""
    part = {**config.dev_sets(), **config.test_sets()}[test.name]
    return config.evaluation_of(part).model_copy(update={"confidence_samples": _CONFIDENCE_SAMPLES})


def _source(test: CommonTest, evaluation: EvaluationConfig) -> SourceSide:
    return source_side(test.own_sources, evaluation, test.languages)


class _Translated(NamedTuple):
    """A system's translations of the test set."""

    hypotheses: list[str]
    perplexity: float
    """Perplexity of the references."""


def _translate(
    name: str, members: Sequence[Planned], output: Path, test: CommonTest
) -> _Translated:
    tell(f"{name}: translating {test.name} for its scores, then scoring the references")
    translator = Translator.load(*(member.experiment.run for member in members), terms=UNPROTECTED)
    sources, targets = test.sources[members[0].name], test.targets[members[0].name]
    with counting(f"{name}: translating", "sentences", len(sources)) as count:
        hypotheses = translator.translate(sources, progress=count)
    with atomic_write(output / TRANSLATIONS / f"{name}.{test.name}") as stream:
        stream.writelines(f"{line}\n" for line in hypotheses)
    scored = total(translator.score(sources, targets))
    return _Translated(hypotheses, perplexity(*scored))


class _Judged(NamedTuple):
    """A system's scores."""

    scores: list[Score]
    differences: list[SignificanceTest]


def _judge(
    hypotheses: Mapping[str, list[str]], test: CommonTest, evaluation: EvaluationConfig
) -> dict[str, _Judged]:
    """Scores with intervals, and differences from the first system, which itself has none."""
    # Has fewer false positives than the bootstrap, see docs/evaluation.md.
    significance = SignificanceConfig(test="randomization")
    tell(
        f"scoring: intervals from {_CONFIDENCE_SAMPLES:,} resamples, significance of each "
        "difference by paired approximate randomisation"
    )
    first, references, judged = next(iter(hypotheses)), test.references, {}
    source = _source(test, evaluation)
    with counting("scoring", "systems", len(hypotheses)) as count:
        for number, (name, lines) in enumerate(hypotheses.items(), 1):
            scores = score_corpus(lines, references, evaluation, source)
            differences = (
                compare_systems(
                    hypotheses[first],
                    {name: lines},
                    references,
                    evaluation,
                    significance,
                    source=source,
                )
                if name != first
                else []
            )
            judged[name] = _Judged(scores, differences)
            count(number)
    return judged


def _row(
    name: str,
    members: Sequence[Planned],
    perplexity: float,
    speeds: Mapping[str, Speed],
    machine: Machine,
) -> ComparisonRow:
    """A row without the scores of its translations."""
    learned = [_progress(member.experiment.run) for member in members]
    flops = estimated = 0.0
    for member, progress in zip(members, learned, strict=True):
        flops += member.cost.training_flops(progress.target_tokens)
        speed = speeds[member.name].tokens_per_second
        assert speed is not None, "single models were timed"
        peak = machine.peaks[precision_of(member.experiment.config)]
        estimated += progress.target_tokens / speed * peak
    return ComparisonRow(
        name=name,
        members=[member.name for member in members],
        parameters=sum(member.cost.total_parameters for member in members),
        steps=sum(progress.step for progress in learned),
        target_tokens=sum(progress.target_tokens for progress in learned),
        flops=flops,
        estimated_flops=estimated,
        speed=speeds[name],
        perplexity=perplexity,
    )


def _progress(run: Path) -> Progress:
    found = checkpoints(run)
    if not found:
        raise SavedError(f"{run}: a model without checkpoints, which record what it learned from")
    return read_progress(found[-1])
