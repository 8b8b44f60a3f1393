"""Carrying out a run on the command line: progress, dropped text, scores, the report."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dragoman.core.errors import ConfigError, MissingExtraError, SavedError
from dragoman.core.text_tables import terminal_table
from dragoman.core.wording import in_shell
from dragoman.evaluation.metrics import check_installed
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig
from dragoman.run.finish_record import read_finish
from dragoman.run.prepared_text import Prepared
from dragoman.run.revision import ended_by
from dragoman.run.run_directory import begin, claim
from dragoman.run.scores_file import read_scores
from dragoman.saved.directions import usage
from dragoman.saved.model import CONFIG_FILE, MODEL_DIRECTORY, read_config
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.distributed import World
from dragoman.training.observers import Observer
from dragoman.validation import Report, figures
from dragoman.workflows.progress import TrainingProgress, counting, is_quiet, tell, write_line
from dragoman.workflows.reports.error_tables import finish_text
from dragoman.workflows.results import print_json
from dragoman.workflows.trackers.tracking import NO_TRACKING, Tracking, tracked

log = logging.getLogger(__name__)


def check_one_process(work: str) -> None:
    """Refuse to run under a launcher; ``work`` begins the message, such as "adapt trains"."""
    if "RANK" in os.environ:
        raise ConfigError(f"{work} in one process; start it without torchrun")


def prepare_run(experiment: Experiment) -> Prepared:
    """Prepare with a progress bar, and print the text left out."""
    with counting("preparing", "pairs") as count:
        prepared = experiment.prepare(count)
    if not is_quiet():
        write_line(prepared.report.table())
    return prepared


@contextmanager
def new_run(config: ExperimentConfig, run: Path) -> Iterator[Experiment]:
    """Begin a run, locked for this process within the block."""
    with begin(run):
        yield Experiment.create(config, run)


@contextmanager
def opened_run(run: Path, settings: Sequence[str] = ()) -> Iterator[Experiment]:
    """Open a run, changed by ``settings`` and locked for this process within the block."""
    experiment = Experiment.open(run)
    with claim(run):
        if settings:
            experiment.revise(settings)
        if end := ended_by(experiment.config, run):
            tell(
                f"{run}: training ended at {end}; only scoring is left. To train longer, raise "
                f"it: dragoman resume {in_shell(run)} --set {end.partition(':')[0]}=..."
            )
        yield experiment


def carry_out(
    run: Path,
    begun: Callable[[], AbstractContextManager[Experiment]],
    *,
    repeatable: bool = False,
    tracking: Tracking = NO_TRACKING,
    as_json: bool,
) -> None:
    """Train a run to its end, alone or with the other processes of a launcher.

    Args:
        begun: context manager that creates or opens it; called in the leading process only.
        repeatable: whether ``begun`` is called again in a process that replaces a leading process
            which has already trained; otherwise the run is opened as it is.
    """
    world = World.join()

    def opened() -> AbstractContextManager[Experiment]:
        has_begun = not repeatable and world.continues and checkpoints(run)
        return opened_run(run) if has_begun else begun()

    with ExitStack() as held:
        experiment = world.leader_first(
            "run", lambda: held.enter_context(opened()) if world.is_leader else _begun(run)
        )
        train_run(experiment, world, tracking)
        if world.is_leader:
            conclude_run(experiment, as_json=as_json)


def _begun(run: Path) -> Experiment:
    try:
        return Experiment.open(run)
    except SavedError as error:
        raise SavedError(
            f"{error}, though the leading process has it: run and text must have the same paths on "
            "all machines"
        ) from error


def train_run(experiment: Experiment, world: World, tracking: Tracking = NO_TRACKING) -> None:
    """Prepare if necessary, and train; the leading process shows the run in its trackers."""
    with tracked(tracking if world.is_leader else NO_TRACKING, experiment) as trackers:

        def observe(step: int) -> list[Observer]:
            progress = TrainingProgress(step, experiment.config.training.max_steps)
            return [progress, *trackers.begin(step)]

        def prepared_by_leader() -> Prepared:
            for evaluation in experiment.config.evaluations():
                check_installed(evaluation)  # otherwise this would fail hours later
            return prepare_run(experiment)

        prepared = world.leader_first(
            "prepared", lambda: prepared_by_leader() if world.is_leader else experiment.prepared()
        )
        experiment.train(prepared, world, observe, tell, trackers.translations)
        trackers.conclude()
        world.leave()


@dataclass(frozen=True)
class CommandLineHost:
    """Carries out techniques on the command line; see :class:`dragoman.techniques.host.Host`."""

    tracking: Tracking = NO_TRACKING
    """The trackers that show the runs."""

    def tell(self, line: str) -> None:
        """Print a line on standard error."""
        tell(line)

    def counting(
        self, what: str, unit: str, total: int | None = None, start: int = 0
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Show a progress bar."""
        return counting(what, unit, total, start)

    def train(self, experiment: Experiment) -> None:
        """Train with progress on standard error."""
        train_run(experiment, World.join(), self.tracking)


def conclude_run(
    experiment: Experiment,
    more_scores: Mapping[str, float] | None = None,
    *,
    as_json: bool = False,
    more_values: Mapping[str, Any] | None = None,
) -> None:
    """Print scores and paths, and write the report if its packages are installed.

    Args:
        more_scores: further scores for the report.
        more_values: further values of that JSON.
    """
    report = None
    try:  # before printing, which may fail
        from dragoman.workflows.reports.run_report import write_report

        report = write_report(experiment, more_scores)
    except MissingExtraError as error:
        log.warning("no report was written: %s", error)
    if as_json:
        print_json({**run_values(experiment, report), **(more_values or {})})
        return
    click.echo(scores_table(read_scores(experiment.run)))
    if text := finish_text(read_finish(experiment.run)):
        click.echo(f"\n{text}")
    if report is not None:
        click.echo(f"\nReport: {report}")
    show_use(experiment.run)


def show_use(run: Path) -> None:
    """Print where the model of a run is, and a command that uses it."""
    click.echo(f"Model:  {run / MODEL_DIRECTORY}")
    saved = read_config(run / MODEL_DIRECTORY / CONFIG_FILE)
    click.echo(f"Use it: {usage(run, saved)}")


def run_values(experiment: Experiment, report: Path | None) -> dict[str, Any]:
    """A finished run as plain values: its files, its cost and all scores."""
    run = experiment.run
    progress = read_progress(checkpoints(run)[-1])
    return {
        "run": str(run),
        "model": str(run / MODEL_DIRECTORY),
        "report": None if report is None else str(report),
        "steps": progress.step,
        "epochs": progress.epoch,
        "target_tokens": progress.target_tokens,
        "seconds": round(progress.seconds, 3),
        "scores": read_scores(run),
        **read_finish(run),
    }


def scores_table(scores: Mapping[str, Report]) -> str:
    """Scores for a terminal: a line for each set and metric, with its signature.

    If sets differ in their languages, each line names them.
    """
    directions = {name: _direction(report) for name, report in scores.items()}
    several = len(set(directions.values())) > 1
    rows = []
    for name, report in scores.items():
        label = [name, directions[name]] if several else [name]
        for metric, value in figures(report).items():
            score = report[metric]
            signature = score.get("signature", "") if isinstance(score, dict) else ""
            rows.append([*label, metric, f"{value:.2f}", signature])
    return terminal_table(rows, "lllrl" if several else "llrl")


def _direction(report: Report) -> str:
    """The direction, such as ``en-de``; empty if an older Dragoman wrote the scores."""
    languages = report.get("source_language"), report.get("target_language")
    return "-".join(language for language in languages if language)
