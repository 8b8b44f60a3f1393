"""Commands that make models: prepare, train, resume, average, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman.cli import declare
from dragoman.cli.in_processes import in_processes
from dragoman.cli.option_types import MODEL, PATH
from dragoman.cli.options import (
    config_argument,
    default_run,
    json_option,
    run_option,
    set_option,
    train_command,
)
from dragoman.cli.tracker_options import chosen_trackers, tracker_options
from dragoman.workflows.results import print_json


@click.command()
@config_argument
@run_option
@set_option
@json_option
def prepare(
    config: Path, run_directory: Path | None, settings: tuple[str, ...], as_json: bool
) -> None:
    """Clean and encode the text of CONFIG without training.

    Trains the vocabulary if there is none, and reports which sentence pairs were left out and why.
    Repeating it with unchanged text takes no time.

    \b
    Example:
      dragoman prepare my.yaml --run runs/my
    """
    from dragoman.recipe import read_experiment
    from dragoman.workflows.runs import new_run, prepare_run

    run = run_directory or default_run(config)
    with new_run(read_experiment(config, settings), run) as experiment:
        prepared = prepare_run(experiment)
    if as_json:
        print_json({"run": str(run), "parts": prepared.report.to_json()})
        return
    click.echo(f"Ready in {run}; train with: {train_command(config, run, settings)}")


@click.command()
@config_argument
@run_option
@set_option
@tracker_options
@json_option
@in_processes
def train(
    config: Path,
    run_directory: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Train the model that CONFIG describes, and score it.

    Ctrl-C, SIGTERM or SIGHUP saves and stops; 'dragoman resume' continues.

    \b
    Examples: one device; two trackers; another model; four GPUs; two machines; up to four
      dragoman train my.yaml --set training.max_steps=2000
      dragoman train my.yaml --log wandb --log csv
      dragoman train my.yaml --set training.start_from=runs/parent
      dragoman train my.yaml --processes 4
      dragoman train my.yaml --processes 8 --nodes 2 --rendezvous HOST:29400
      dragoman train my.yaml --processes 8 --nodes 1:4 --rendezvous HOST:29400
    """
    from dragoman.recipe import read_experiment
    from dragoman.workflows.runs import carry_out, new_run

    run = run_directory or default_run(config)
    carry_out(
        run,
        lambda: new_run(read_experiment(config, settings), run),
        tracking=chosen_trackers(options),
        as_json=as_json,
    )


@click.command()
@click.argument("run", type=PATH)
@declare.options("""
    --set KEY=VALUE... as settings
        Change a limit, an interval, or a search or scoring setting, such as
        training.max_steps=4000; may be repeated.
""")
@tracker_options
@json_option
@in_processes
def resume(run: Path, settings: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Continue RUN from its last checkpoint, or train a finished one longer.

    \b
    Examples: on one device; without its trackers; on four GPUs; longer than planned
      dragoman resume runs/my
      dragoman resume runs/my --log none
      dragoman resume runs/my --processes 4
      dragoman resume runs/my --set training.max_steps=4000
    """
    from dragoman.workflows.runs import carry_out, opened_run

    carry_out(
        run,
        lambda: opened_run(run, settings),
        repeatable=True,  # the process before may have been killed ahead of reading the settings
        tracking=chosen_trackers(options, resumes=True),
        as_json=as_json,
    )


@click.command()
@click.argument("paths", metavar="RUN_OR_CHECKPOINTS...", type=PATH, nargs=-1, required=True)
@declare.options("""
    --last N: 1 <= int = 5
        Number of newest checkpoints of a run to average.
    --output: PATH required
        Model directory to create.
""")
@json_option
def average(paths: tuple[Path, ...], last: int, output: Path, as_json: bool) -> None:
    """Create a model whose weights are the mean of several checkpoints.

    \b
    Examples: the last five of a run; two checkpoints by name
      dragoman average runs/my --last 5 --output models/my
      dragoman average runs/my/checkpoints/step-00{1000,2000} --output models/my
    """
    from dragoman.workflows.derived_models import average_models

    chosen = average_models(paths, last, output)
    if as_json:
        averaged = [str(path) for path in chosen]
        print_json({"model": str(output), "averaged": averaged})
        return
    names = ", ".join(path.name for path in chosen)
    click.echo(f"{output}: the mean of {len(chosen)} ({names})")


@click.command()
@click.argument("model", metavar="MODEL", type=MODEL)
@declare.options("""
    --adapter FILE: PATH required
        Adapter of MODEL, or the run that it was trained in.
    --output: PATH required
        Model directory to create.
""")
@json_option
def merge(model: Path, adapter: Path, output: Path, as_json: bool) -> None:
    """Create a model of its own from MODEL and its adapter.

    \b
    Example:
      dragoman merge runs/general --adapter runs/ui --output models/ui
    """
    from dragoman.workflows.derived_models import merge_adapter

    merge_adapter(model, adapter, output)
    if as_json:
        print_json({"model": str(output), "of": str(model), "adapter": str(adapter)})
        return
    click.echo(f"{output}: {model} with {adapter}")


@click.command()
@declare.options("""
    --directory: PATH = demo
        Directory for the text, the run and the report.
""")
def demo(directory: Path) -> None:
    """Train a small model in two minutes on text that comes with Dragoman.

    It translates English numbers, dates, times and amounts into German.  Writes a report.

    \b
    Example:
      dragoman demo
    """
    from dragoman.workflows.demo import run_demo

    run_demo(directory)
