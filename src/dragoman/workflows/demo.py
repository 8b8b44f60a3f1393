"""The demo: from nothing to measured translations in two minutes, without a download."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.files import atomic_write, storage_errors
from dragoman.evaluation.metrics import exact_match
from dragoman.experiment import Experiment
from dragoman.recipe import read_experiment
from dragoman.run.run_directory import begin, is_run
from dragoman.saved.model import CONFIG_FILE, has_model
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.synthetic import write
from dragoman.training.distributed import World
from dragoman.translation.translator import Translator
from dragoman.workflows.progress import tell
from dragoman.workflows.runs import check_one_process, conclude_run, train_run

SOURCE, TARGET = "en", "de"
TEXT_DIRECTORY = "text"
EXPERIMENT_FILE = "demo.yaml"
RUN_DIRECTORY = "run"
_ROWS, _DEV, _TEST = 20_000, 300, 1000
_SHOWN = 8


def _part(name: str) -> dict[str, str]:
    return {"path": f"{TEXT_DIRECTORY}/{name}.tsv", "source": SOURCE, "target": TARGET}


EXPERIMENT: dict[str, Any] = {
    "source_language": SOURCE,
    "target_language": TARGET,
    "data": {"train": [_part("train")], "dev": _part("dev"), "test": {"test": _part("test")}},
    "vocabulary": {"size": 400},
    "model": {
        "family": "transformer",
        "encoder_layers": 2,
        "decoder_layers": 2,
        "d_model": 128,
        "d_ff": 256,
        "heads": 4,
    },
    "training": {
        "step_tokens": 1024,
        "schedule": {"warmup_steps": 200, "peak_learning_rate": 0.003, "decay": "linear"},
        "precision": "float32",
        "max_steps": 1200,
        "validation_steps": 300,
        "checkpoint_steps": 300,
        "average_checkpoints": 0,
        "best_metric": "loss",
    },
}
"""Small and fast; ``demo.yaml`` in the demo directory is a copy to experiment with."""


def run_demo(directory: Path) -> None:
    """Write text, train, translate, score and report; resume where an earlier call stopped."""
    check_one_process("the demo trains")
    run = directory / RUN_DIRECTORY
    if (report := run / "report.html").is_file():  # the last thing that is written
        raise ConfigError(
            f"{directory}: the demo is already finished; look at {report}, or choose another place "
            "with --directory"
        )
    _check_directory(directory, run)
    with begin(run):
        experiment = _experiment(directory, run)
        if not has_model(run):
            train_run(experiment, World.join())
    pairs = list(read_pairs(experiment.config.data.test["test"]))
    translations = Translator.load(run).translate([pair.source for pair in pairs])
    exact = exact_match(translations, [pair.target for pair in pairs])
    click.echo("\nSome lines that the model has not seen:")
    for pair, translation in list(zip(pairs, translations, strict=True))[:: len(pairs) // _SHOWN]:
        mark = "" if translation == pair.target else f"  (should be: {pair.target})"
        click.echo(f"  {pair.source}\n    → {translation}{mark}")
    click.echo(f"\nExact match: {exact:.1f}% of {len(pairs):,} unseen lines")
    conclude_run(experiment, {"exact match, %": exact})


def _check_directory(directory: Path, run: Path) -> None:
    """Refuse a directory with other files, which would be overwritten."""
    with storage_errors(directory):
        names = os.listdir(directory) if directory.exists() else []
    strangers = [name for name in names if not name.startswith(".")]
    if strangers and not is_run(run):
        raise ConfigError(
            f"{directory}: holds {min(strangers)} and is not a demo; choose a new or empty "
            "directory with --directory"
        )


def _experiment(directory: Path, run: Path) -> Experiment:
    """The run as it is, or a new one with its text."""
    if (run / CONFIG_FILE).is_file():
        tell(f"resuming the demo in {directory}")
        return Experiment.open(run)
    write(directory / TEXT_DIRECTORY, _ROWS, dev=_DEV, test=_TEST)
    with atomic_write(directory / EXPERIMENT_FILE) as stream:
        stream.write(to_yaml(EXPERIMENT))
    return Experiment.create(read_experiment(directory / EXPERIMENT_FILE), run)
