"""The command that learns from text without translations: backtranslate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import RECIPE
from dragoman.cli.options import default_run, json_option, set_option
from dragoman.cli.tracker_options import chosen_trackers, tracker_options
from dragoman.core.wording import in_shell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.recipe import ExperimentConfig


@click.command()
@click.argument("config", metavar="CONFIG|DIRECTORY", type=RECIPE)
@declare.options(
    """
    --monolingual FILE: PATH
        Lines of text in the target language.
    --monolingual-source FILE: PATH
        Text in the source language, for the reverse model from the second round on.  [default: the
        sources of CONFIG's own pairs]
    --run DIRECTORY: PATH as run_directory
        Directory for everything.  [default: runs/NAME-backtranslation for NAME.yaml]
    --reverse RUN|RECIPE: PATH
        Finished model of the opposite direction, or a recipe for it.  [default: CONFIG with its
        sides exchanged]
    --teacher URL|FILE
        Instead of --reverse: the address of a server that translates, or a YAML file with its
        settings (docs/teachers.md).
    --teacher-set KEY=VALUE... as teacher_settings
        Setting of the teacher, such as model=NAME or max_cost=5; may be repeated.
    --rounds N: 1 <= int <= 100
        Rounds.  [default: 1]
    --method: beam | greedy | sampling | top-k | noised-beam
        Method of translating back; top-k and sampling draw at random.  [default: beam]
    --beam N: 2 <= int <= 1000
        Width of beam search.  [default: the reverse model's]
    --top-k K: 1 <= int
        Pieces from which --method top-k draws.  [default: 10]
    --tag
        Put the tag <BT> in front of synthetic sources.
    --ratio R: 0 < number <= 1000000.0
        Maximum synthetic pairs per real pair.  [default: 4]
    --choice: random | first
        Lines to take if the text has more than needed.  [default: random]
    --drop-worst SHARE: 0 <= number < 1
        Leave out this share of the synthetic pairs: those that score lowest.  [default: 0]
    --upsample W: 0.001 <= number <= 1000.0
        Show each real pair W times as often as a synthetic one.  [default: 1]
    --seed N: 0 <= int
        Random seed, for the choice of lines and for sampling.  [default: 1]
    --baseline RUN: PATH
        Finished run of CONFIG without synthetic pairs, for comparison.
    --workers N: 1 <= int <= 1024
        Processes that translate.  [default: this one alone]
    """,
    tag={"default": None},
)
@set_option
@tracker_options
@json_option
def backtranslate(
    config: Path,
    run_directory: Path | None,
    settings: tuple[str, ...],
    *,
    teacher: str | None,
    teacher_settings: tuple[str, ...],
    baseline: Path | None,
    workers: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn from text without translations: translate it back, and train CONFIG on that, too.

    Trains a reverse model (CONFIG with its sides exchanged), translates the text of --monolingual
    into the source language, and trains the model of CONFIG on its own pairs and on these.  Each
    step resumes with the same command, or with DIRECTORY alone.

    \b
    Examples:
      dragoman backtranslate my.yaml --monolingual news.de.gz
      dragoman backtranslate my.yaml --monolingual news.de.gz --method top-k --tag --ratio 2
      dragoman backtranslate my.yaml --monolingual news.de --monolingual-source news.en --rounds 2
      dragoman backtranslate my.yaml --monolingual news.de --teacher http://localhost:8000/v1
      dragoman backtranslate runs/my-backtranslation
    """
    from dragoman.core.errors import ConfigError
    from dragoman.recipe import read_experiment
    from dragoman.techniques.backtranslation.directory import given_teacher, is_begun, opened
    from dragoman.techniques.backtranslation.reversal import direction_of
    from dragoman.techniques.backtranslation.rounds import carry_out
    from dragoman.workflows.backtranslation_summary import baseline_scores, table, to_json
    from dragoman.workflows.runs import CommandLineHost, check_one_process

    check_one_process("backtranslate works")
    recipe: ExperimentConfig | None = None
    if config.is_dir():
        directory = config
        if run_directory is not None or settings:
            raise ConfigError(f"{config}: a directory to resume takes neither --run nor --set")
        if not is_begun(directory):
            raise ConfigError(f"{config}: no back-translation here; give a configuration")
    else:
        directory = run_directory or default_run(config).with_name(f"{config.stem}-backtranslation")
        recipe = read_experiment(config, settings)
    tracking = chosen_trackers(given, directory)
    values = _values(given)
    values |= given_teacher(directory, teacher, teacher_settings)
    if not is_begun(directory) and "monolingual" not in values:
        raise click.UsageError("name the text to translate back with --monolingual FILE")
    with opened(directory, recipe, values) as plan:
        if workers is not None and plan.settings.teacher is not None:
            raise click.UsageError("a server translates by itself; remove --workers")
        direction = direction_of(plan.recipe)
        scores = None if baseline is None else baseline_scores(baseline, direction)
        translated = carry_out(plan, CommandLineHost(tracking), workers=workers)
    if as_json:
        print_json(to_json(translated, scores))
        return
    click.echo(table(translated, scores))
    click.echo(f"\nModel:  {translated.rounds[-1].forward}")
    click.echo(f"Use it: dragoman translate {in_shell(translated.use)} < input.txt")


def _values(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, as settings, with absolute paths."""
    from dragoman.techniques.backtranslation.directory import reverse_settings
    from dragoman.text.public_corpora import located

    values = {name: value for name, value in given.items() if value is not None}
    reverse = values.pop("reverse", None)
    for name in ("monolingual", "monolingual_source"):
        if name in values:
            values[name] = _text(f"--{name.replace('_', '-')}", located(str(values[name]), Path()))
    return values | (reverse_settings(reverse) if reverse is not None else {})


def _text(option: str, path: Path) -> Path:
    """A file of text that can be read twice."""
    from dragoman.core.errors import ConfigError, DataError
    from dragoman.text.public_corpora import corpora_folder, remedy

    if not path.exists():
        public = path.is_relative_to(corpora_folder())
        what_to_do = remedy(path) if public else "check the path"
        raise DataError(f"{option} {path}: no such file; {what_to_do}")
    if not path.is_file():
        raise ConfigError(f"{option} {path}: not a file; save the text to one")
    return path.absolute()
