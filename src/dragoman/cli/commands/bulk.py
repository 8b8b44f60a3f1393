"""The commands that many workers carry out in shards: bulk clean, count, prepare, translate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dragoman.cli import declare
from dragoman.cli.bulk_options import BulkOptions, bulk_options, shard_lines_option
from dragoman.cli.option_types import MODEL
from dragoman.cli.options import config_argument, default_run, run_option, set_option, train_command
from dragoman.cli.system_options import described, described_without_workers
from dragoman.core.errors import ConfigError
from dragoman.workflows.progress import is_quiet, tell, write_line
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.cli.bulk_options import WorkMeter
    from dragoman.data.bulk.bulk_directory import BulkDirectory
    from dragoman.data.bulk.bulk_text import BulkText
    from dragoman.recipe import ExperimentConfig
    from dragoman.text.corpora.cleaning_report import CleaningReport

# As in data.bulk.text_plan and translation.synthesis, which --help need not import.
_SHARD_PAIRS = 50_000
_SHARD_TRANSLATIONS = 2000

_directory_option = declare.options("""
    --output DIRECTORY: PATH required
        Directory to create.
""")


@click.group()
def bulk() -> None:
    """Clean, count, encode and translate large corpora, in shards and on several machines.

    Every command resumes where it was interrupted, and gives the same result as one process.  On
    several machines, all files must be on a shared file system.

    \b
    Examples:
      dragoman bulk clean my.yaml --output clean
      dragoman bulk prepare my.yaml --run runs/my --cluster HOST:6379
    """


@bulk.command("prepare")
@config_argument
@run_option
@set_option
@shard_lines_option(_SHARD_PAIRS)
@bulk_options
def bulk_prepare(
    config: Path,
    run_directory: Path | None,
    settings: tuple[str, ...],
    shard_lines: int,
    **options: Any,
) -> None:
    """Clean and encode the text of CONFIG, as 'dragoman prepare' does.

    'dragoman train' then finds everything ready.

    \b
    Examples: on all cores; on a cluster
      dragoman bulk prepare my.yaml --run runs/my
      dragoman bulk prepare my.yaml --run runs/my --cluster HOST:6379
    """
    from dragoman.data.bulk.bulk_preparation import BulkWorkers
    from dragoman.recipe import read_experiment
    from dragoman.workflows.runs import new_run

    run = run_directory or default_run(config)
    chosen = BulkOptions.taken(options)
    with new_run(read_experiment(config, settings), run) as experiment, chosen.meter() as meter:
        workers = BulkWorkers(meter.runner, shard_lines, meter.stage)
        prepared = experiment.prepare(workers=workers)
    _conclude(chosen, meter, prepared.report, {"run": str(run)})
    if not chosen.as_json:
        click.echo(f"Ready in {run}; train with: {train_command(config, run, settings)}")


@bulk.command("clean")
@config_argument
@_directory_option
@set_option
@declare.options("""
    --across-parts
        Also drop a pair that occurred in an earlier part, not only one repeated in its own.
""")
@shard_lines_option(_SHARD_PAIRS)
@bulk_options
def bulk_clean(
    config: Path,
    output: Path,
    settings: tuple[str, ...],
    across_parts: bool,
    shard_lines: int,
    **options: Any,
) -> None:
    """Write the cleaned training text of CONFIG as JSON lines.

    Part N of data.train becomes part-N.jsonl.zst, with the keys source and target; report.json says
    what was left out and why.

    \b
    Example:
      dragoman bulk clean my.yaml --output cleaned
    """
    from dragoman.data.bulk.bulk_directory import BulkDirectory
    from dragoman.data.bulk.bulk_text import (
        REPORT_FILE,
        cleaned_names,
        make_of_cleaned,
        write_cleaned,
    )
    from dragoman.recipe import read_experiment

    chosen, experiment = BulkOptions.taken(options), read_experiment(config, settings)
    names = cleaned_names(len(experiment.data.train))
    with chosen.meter() as meter:
        directory = BulkDirectory(output, [*names, REPORT_FILE])
        text = _text(experiment, directory, meter, shard_lines, across_parts=across_parts)
        _, report = make_of_cleaned(text, {"made": "text"}, lambda: write_cleaned(text))
    _conclude(chosen, meter, report, {"output": [str(output / name) for name in names]})


@bulk.command("count")
@config_argument
@_directory_option
@set_option
@declare.options("""
    --vocabulary MODEL: MODEL
        Count the pieces of its vocabulary instead of words between white space.
""")
@shard_lines_option(_SHARD_PAIRS)
@bulk_options
def bulk_count(
    config: Path,
    output: Path,
    settings: tuple[str, ...],
    vocabulary: Path | None,
    shard_lines: int,
    **options: Any,
) -> None:
    """Count the words of the cleaned training text of CONFIG.

    Writes source.tsv and target.tsv: a word, a tab and its count, the most frequent first.

    \b
    Examples: words; pieces
      dragoman bulk count my.yaml --output counts
      dragoman bulk count my.yaml --output counts --vocabulary runs/my
    """
    from dragoman.data.bulk.bulk_directory import BulkDirectory
    from dragoman.data.bulk.bulk_text import REPORT_FILE, make_of_cleaned
    from dragoman.data.bulk.word_counts import COUNT_FILES, count_words
    from dragoman.recipe import read_experiment
    from dragoman.text.vocabularies import Vocabularies

    chosen, experiment = BulkOptions.taken(options), read_experiment(config, settings)
    names = list(COUNT_FILES.values())
    origin: dict[str, Any] = {"made": "counts"}
    if vocabulary is not None:
        vocabulary = vocabulary.absolute()
        origin["vocabulary"] = list(Vocabularies.load(vocabulary).fingerprints)
    with chosen.meter() as meter:
        directory = BulkDirectory(output, [*names, REPORT_FILE])
        text = _text(experiment, directory, meter, shard_lines)
        counted, report = make_of_cleaned(text, origin, lambda: count_words(text, vocabulary))
    files = [str(output / name) for name in names]
    _conclude(chosen, meter, report, {"output": files, "words": counted})


@bulk.command("translate")
@click.argument("models", metavar="MODEL...", type=MODEL, nargs=-1)
@declare.options("""
    --text FILE...: PATH as files required
        Lines to translate; may be repeated.
""")
@_directory_option
@declare.options(
    """
    --known: source | target = source
        Side of the pairs that the lines become: target for back-translation.
    --beam: 1 <= int
        Beam size.  [default: the model's]
    --gpus G: 0 <= number <= 64
        GPUs per worker; with 0.5, two workers share one.  [default: none, the CPU is used]
    """,
    gpus={"default": 0.0, "show_default": False},
)
@shard_lines_option(_SHARD_TRANSLATIONS)
@bulk_options
@described_without_workers
def bulk_translate(
    *,
    models: tuple[Path, ...],
    files: tuple[Path, ...],
    output: Path,
    known: Literal["source", "target"],
    beam: int | None,
    gpus: float,
    shard_lines: int,
    **options: Any,
) -> None:
    """Translate many lines into a corpus of pairs; several MODELs form an ensemble.

    DIRECTORY/pairs.jsonl.gz has the keys source and target, the number of the line, the model and
    the score; origin.json says how it was made.  Every worker opens the models itself.

    \b
    Examples: forward; back-translation
      dragoman bulk translate runs/en-de --text news.en.gz --output news
      dragoman bulk translate runs/de-en --text news.de.gz --known target --output back
    """
    from dragoman.translation.synthesis import GivenFiles, translate_corpus

    chosen = BulkOptions.taken(options)
    system = described(models, {**options, "workers": None, "beam": beam})
    if system.chooses_adapter or system.chooses_route:
        raise ConfigError(
            "a corpus is translated by one system, without adapters by domain or routes by "
            "language; divide the text and translate each part by itself"
        )
    if gpus and chosen.workers == 0:
        raise ConfigError("--gpus are of workers; with --workers 0, choose by --device")
    with chosen.meter(gpus) as meter:
        made = translate_corpus(
            system,
            GivenFiles(files),
            output,
            known=known,
            shard_lines=shard_lines,
            progress=lambda done, total: meter.stage("translating", "lines", total, done),
            runner=None
            if chosen.workers == 0
            else meter.runner,  # which would open the models again
        )
    counts = {"lines": made.lines, "refused": made.refused, "empty": made.empty}
    if chosen.as_json:
        print_json({"output": str(output / made.path.name), **counts, **meter.values()})
        return
    left_out = f"{made.refused:,} too long, {made.empty:,} empty"
    tell(f"{made.lines:,} pairs in {output / made.path.name} ({left_out}); {meter.summary()}")


def _text(
    experiment: ExperimentConfig,
    directory: BulkDirectory,
    meter: WorkMeter,
    shard_lines: int,
    *,
    across_parts: bool = False,
) -> BulkText:
    """The training text of an experiment, to be cleaned in ``directory``."""
    from dragoman.data.bulk.bulk_text import BulkText
    from dragoman.data.origin import describe

    parts = experiment.train_parts()
    return BulkText(
        directory,
        parts,
        experiment.cleaning,
        runner=meter.runner,
        held_out=experiment.held_out(experiment.data.never_trained_on),
        inputs=describe(path for part in parts for path in part.inputs()),
        shard_lines=shard_lines,
        across_parts=across_parts,
        show=meter.stage,
    )


def _conclude(
    options: BulkOptions, meter: WorkMeter, report: CleaningReport, values: Mapping[str, Any]
) -> None:
    """Print the pairs left out by cleaning, the cost of the work, and the results."""
    if options.as_json:
        print_json({**values, "parts": report.to_json(), **meter.values()})
        return
    if not is_quiet():
        write_line(report.table())
    tell(meter.summary())
    for file in values.get("output", ()):
        click.echo(file)
