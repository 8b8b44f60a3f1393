"""Carrying out a back-translation, round by round; what is finished is not done again.

Sennrich et al. 2016 (arXiv:1511.06709) translate text in the target language back and train on it;
Hoang et al. 2018 (Iterative Back-Translation for Neural Machine Translation) repeat it in both
directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from dragoman.apps.backtranslation.directory import Plan, link_model
from dragoman.apps.backtranslation.filters import filter_pairs
from dragoman.apps.backtranslation.monolingual import ChosenLines, choose_lines
from dragoman.apps.backtranslation.parts import count_real_pairs, with_synthetic
from dragoman.apps.backtranslation.reports import PairReport, TextReport, read_report
from dragoman.apps.backtranslation.reversal import direction_of, real_parts
from dragoman.apps.progress import counting, tell
from dragoman.apps.runs import train_run
from dragoman.core.errors import DataError, InterruptedRunError, SavedError
from dragoman.core.files import read_json, write_json
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig
from dragoman.run_directory import begin
from dragoman.saved.model import CONFIG_FILE, has_model
from dragoman.saved.system import TranslationSystem
from dragoman.text.corpus import Pair, read_lines, read_pairs
from dragoman.training.distributed import World
from dragoman.translation.synthesis import SHARD_LINES, translate_corpus

TRANSLATED, PAIRS_FILE = "translated", "pairs.jsonl.gz"
REAL_FILE = "real.json"


@dataclass(frozen=True)
class Round:
    """A finished round."""

    number: int
    reverse: Path
    """Run of the reverse model, or the given model."""
    forward: Path
    """Run of the forward model."""
    synthetic: PairReport
    """Of the pairs that the forward model learned from."""
    reverse_synthetic: PairReport | None
    """Of the pairs that the reverse model learned from; None if it learned from real ones alone."""


@dataclass(frozen=True)
class BackTranslation:
    """A finished back-translation."""

    plan: Plan
    real_pairs: int
    rounds: list[Round]
    use: Path
    """What the user translates with."""


@dataclass(frozen=True)
class _Lines:
    """The lines of a file as targets, to be read as often as necessary."""

    path: Path

    def __iter__(self) -> Iterator[Pair]:
        return (Pair("", line, number) for number, line in enumerate(read_lines(self.path), 1))


@dataclass(frozen=True)
class _Targets:
    """The targets of the real pairs of a recipe, numbered through all parts."""

    recipe: ExperimentConfig

    def __iter__(self) -> Iterator[Pair]:
        pairs = (pair for part in real_parts(self.recipe) for pair in read_pairs(part))
        return (pair._replace(source="", line=number) for number, pair in enumerate(pairs, 1))


def carry_out(
    plan: Plan, *, workers: int | None = None, shard_lines: int = SHARD_LINES
) -> BackTranslation:
    """Do what is left of all rounds.

    Args:
        plan: from :func:`~dragoman.apps.backtranslation.directory.opened`.
        workers: processes that translate.
        shard_lines: lines that are translated between two points from which to resume.

    Raises:
        InterruptedRunError: a signal came; the same command resumes.
        DragomanError: as for training and translation.
    """
    work = _Work(plan, _real_pairs(plan), workers, shard_lines)
    rounds = []
    for number in range(1, plan.settings.rounds + 1):
        rounds.append(work.carry_out(number))
        use = link_model(plan, rounds[-1].forward)
    return BackTranslation(plan, work.real_pairs, rounds, use)


def _real_pairs(plan: Plan) -> int:
    """The number of real pairs, counted when the work begins."""
    file = plan.text / REAL_FILE
    if file.exists():
        try:
            return int(read_json(file)["pairs"])
        except (ValueError, TypeError, KeyError) as error:
            raise SavedError(f"{file}: damaged; remove it, and pairs are counted again") from error
    with counting("counting", "real pairs") as count:
        found = count_real_pairs(plan.recipe, count)
    if not found:
        raise DataError("data.train: cleaning leaves no real pair; back-translation needs some")
    write_json(file, {"pairs": found})
    return found


class _Work:
    """The steps of a round."""

    def __init__(self, plan: Plan, real_pairs: int, workers: int | None, shard_lines: int) -> None:
        self.plan, self.real_pairs = plan, real_pairs
        self._workers, self._shard_lines = workers, shard_lines
        ratio = plan.settings.ratio
        self._limit = None if ratio is None else max(1, int(ratio * real_pairs))

    def carry_out(self, number: int) -> Round:
        """The reverse model, its translations, and the forward model that learns from them."""
        plan = self.plan
        of_reverse, learned = self._reverse(number)
        text = _Lines(plan.settings.monolingual)
        folder = plan.round(number) / "synthetic"
        report = self._synthesise(
            of_reverse, text, plan.recipe, folder, name="target", turn=2 * number
        )
        recipe = with_synthetic(plan.recipe, folder / PAIRS_FILE, plan.settings)
        self._train(plan.forward(number), recipe, f"round {number}: forward model")
        return Round(number, of_reverse, plan.forward(number), report, learned)

    def _reverse(self, number: int) -> tuple[Path, PairReport | None]:
        """The reverse model of a round, and of which synthetic pairs it learned, if of any."""
        plan, run = self.plan, self.plan.reverse(number)
        label = f"round {number}: reverse model"
        if number == 1:
            if plan.settings.reverse_model is None:
                assert plan.reverse_recipe is not None, "a plan has one or the other"
                self._train(run, plan.reverse_recipe, label)
            return run, None
        recipe = plan.reverse_recipe
        assert recipe is not None, "a plan of several rounds has one"
        given = plan.settings.monolingual_source
        # Without text in the source language, the sources of the real pairs are translated anew,
        # as in data diversification (Nguyen et al. 2020, arXiv:1911.01986).
        text = _Targets(recipe) if given is None else _Lines(given)
        folder = plan.round(number) / "reverse-synthetic"
        forward = plan.forward(number - 1)
        report = self._synthesise(forward, text, recipe, folder, name="source", turn=2 * number - 1)
        self._train(run, with_synthetic(recipe, folder / PAIRS_FILE, plan.settings), label)
        return run, report

    def _synthesise(
        self,
        model: Path,
        text: _Lines | _Targets,
        learner: ExperimentConfig,
        folder: Path,
        *,
        name: str,
        turn: int,
    ) -> PairReport:
        """Translate a text into synthetic pairs for a recipe, and filter them."""
        output = folder / PAIRS_FILE
        if (report := read_report(output, PairReport)) is not None:
            return report
        settings = self.plan.settings
        lines = self._chosen(text, name, learner)
        language = direction_of(learner).source_language
        tell(f"{folder}: translating into {language} with {model}")
        corpus = translate_corpus(
            TranslationSystem(
                models=(model,),
                target_language=language,
                search=settings.search(turn),
                workers=self._workers,
            ),
            lines,
            folder / TRANSLATED,
            known="target",
            shard_lines=self._shard_lines,
            progress=_progress,
        )
        report = filter_pairs(
            corpus.path, learner, output, drop_worst=settings.drop_worst, limit=self._limit
        )
        tell(f"{folder}: {report}")
        return report

    def _chosen(self, text: _Lines | _Targets, name: str, learner: ExperimentConfig) -> ChosenLines:
        """The lines to translate, the same in all rounds."""
        output = self.plan.text / f"{name}.jsonl.gz"
        if read_report(output, TextReport) is None:
            settings, limit = self.plan.settings, self._limit
            label = text.path.name if isinstance(text, _Lines) else "real pairs"
            if limit is not None:  # more, so that enough are left
                limit = ceil(limit / (1 - settings.drop_worst))
            report = choose_lines(
                text,
                label,
                learner,
                output,
                limit=limit,
                choice=settings.choice,
                seed=settings.seed,
            )
            tell(str(report))
        return ChosenLines(output)

    def _train(self, run: Path, recipe: ExperimentConfig, label: str) -> None:
        """Train and score a run that is not finished."""
        if has_model(run):
            tell(f"{label}: already trained")
            return
        tell(f"{label}: training in {run}")
        try:
            with begin(run):
                begun = (run / CONFIG_FILE).exists()
                experiment = Experiment.open(run) if begun else Experiment.create(recipe, run)
                train_run(experiment, World.join())
        except InterruptedRunError as error:
            stopped = InterruptedRunError(
                f"{run}: stopped; everything is saved; repeat the command to continue"
            )
            stopped.exit_code = error.exit_code
            raise stopped from error


def _progress(done: int, total: int) -> AbstractContextManager[Callable[[int], object]]:
    return counting("translating", "lines", total, done)
