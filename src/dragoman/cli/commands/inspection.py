"""Commands to use before training: recipes, plugins, doctor and cost."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.cli import declare
from dragoman.cli.options import config_argument, default_run, json_option, run_option, set_option
from dragoman.core.errors import ConfigError, DataError
from dragoman.core.recipe_library import recipe_names, recipe_summary, recipe_text
from dragoman.workflows.progress import is_quiet
from dragoman.workflows.results import print_json

LEVELS = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command()
@click.argument("name", required=False)
@declare.options("""
    --schema
        Print a JSON Schema of CONFIG instead, for editors.
""")
def recipes(name: str | None, schema: bool) -> None:
    """List the bundled recipes, or print the one called NAME.

    A recipe is a complete CONFIG, such as one of a published system.  Its name can be used wherever
    a CONFIG is expected.

    \b
    Examples: list all; train one; copy one to change it; have an editor complete keys
      dragoman recipes
      dragoman train multi30k-ende-tiny
      dragoman recipes multi30k-ende-tiny > my.yaml
      dragoman recipes --schema > recipe.schema.json
    """
    if schema:
        if name is not None:
            raise click.UsageError("--schema is of every recipe; leave NAME out")
        from dragoman.recipe.schema import schema_text

        click.echo(schema_text(), nl=False)
        return
    if name is not None:
        click.echo(recipe_text(name), nl=False)
        return
    names = recipe_names()
    width = max(map(len, names))
    for recipe in names:
        click.echo(f"{recipe:<{width}}  {recipe_summary(recipe)}")


@click.command()
@json_option
def plugins(as_json: bool) -> None:
    """List the plug-ins of installed packages, and say which cannot be used.

    Imports each, and names its kind, its package and the version.  Exits with code 2 if one cannot
    be used; the reason is beside it.

    \b
    Example:
      dragoman plugins
    """
    from dragoman.core.text_tables import terminal_table
    from dragoman.workflows.plug_ins import plug_ins

    found = list(plug_ins())
    broken = sum(bool(one.problem) for one in found)
    if as_json:
        print_json({"plugins": [one._asdict() for one in found]})
    elif found:
        rows = [(*one[:-1], one.problem or "ok") for one in found]
        click.echo(terminal_table([("KIND", "NAME", "PACKAGE", "VERSION", ""), *rows], "lllll"))
    else:
        click.echo("No installed package adds a plug-in")
    if broken:
        problems = "1 plug-in" if broken == 1 else f"{broken} plug-ins"
        raise ConfigError(f"{problems} cannot be used; see above")


@click.command()
@config_argument
@run_option
@set_option
@json_option
def doctor(
    config: Path, run_directory: Path | None, settings: tuple[str, ...], as_json: bool
) -> None:
    """Find problems with CONFIG before training.

    Checks the text (encoding, alignment, leakage, lengths), the vocabulary, and the memory, time
    and disk space that training will take.  CONFIG may also be a run; of a trained one, names the
    engine that translates and why.  Trains and writes nothing.  Exits with code 3 if something will
    fail.  With --quiet it reports only warnings and errors.

    \b
    Examples: before training; a run
      dragoman doctor my.yaml
      dragoman doctor runs/my
    """
    from dragoman.recipe import read_experiment
    from dragoman.run.run_directory import is_run
    from dragoman.saved.model import CONFIG_FILE
    from dragoman.workflows.doctor.examination import examine

    findings = []
    if is_run(config):
        run_directory, config = run_directory or config, config / CONFIG_FILE
    run = run_directory or default_run(config)
    for finding in examine(read_experiment(config, settings), run):
        if finding.level == "ok" and is_quiet():
            continue
        findings.append(finding)
        if not as_json:  # each as it is found, as the examination takes a while
            level = click.style(f"{finding.level:<8}", fg=LEVELS[finding.level])
            click.echo(f"{level} {finding.topic + ':':<11} {finding.text}")
    if as_json:
        print_json({"findings": [finding._asdict() for finding in findings]})
    errors = sum(finding.level == "error" for finding in findings)
    if errors:
        problems = "1 error" if errors == 1 else f"{errors} errors"
        raise DataError(f"{config}: {problems} to fix before training; see above")


@click.command()
@config_argument
@set_option
@declare.options("""
    --source-length: 1 <= int <= 100000 = 25
        Pieces in a typical source sentence.
    --target-length: 1 <= int <= 100000 = 25
        Pieces in a typical target sentence.
""")
@json_option
def cost(
    config: Path,
    settings: tuple[str, ...],
    source_length: int,
    target_length: int,
    as_json: bool,
) -> None:
    """Count the parameters and operations of CONFIG, without training.

    Operations are floating-point multiplications and additions.  No text is read.

    \b
    Example:
      dragoman cost my.yaml --set model.d_ff=4096
    """
    from dragoman.models.cost import cost as count
    from dragoman.recipe import read_experiment
    from dragoman.run.parents import completed, parent_of

    experiment = completed(read_experiment(config, settings))
    source_pieces = target_pieces = experiment.vocabulary.size
    if experiment.vocabulary.of is not None and (parent := parent_of(experiment)) is not None:
        source_pieces, target_pieces = map(len, parent.vocabularies)
    counted = count(experiment.model, source_pieces, target_pieces, source_length, target_length)
    training = experiment.training
    # Batches contain padding up to their budget: an upper bound for objectives of one pass.
    step = training.step_tokens
    planned = training.max_steps * step if training.max_steps else None
    figures = {
        "parameters": counted.parameters,
        "total_parameters": counted.total_parameters,
        "forward_flops_per_target_token": counted.forward_flops_per_target_token,
        "flops_per_target_token": counted.flops_per_target_token,
        "target_tokens": planned,
        "training_flops": counted.training_flops(planned) if planned else None,
    }
    if as_json:
        print_json(figures)
        return
    width = max(len(part) for part in counted.parameters) + 2
    for part, count_of_part in counted.parameters.items():
        click.echo(f"{part:<{width}} {count_of_part:>14,}")
    click.echo(f"{'parameters':<{width}} {counted.total_parameters:>14,}\n")
    click.echo(
        f"{counted.flops_per_target_token:.3g} FLOPs per target token in training, "
        f"{counted.forward_flops_per_target_token:.3g} forward only"
    )
    if planned:
        click.echo(
            f"{counted.training_flops(planned):.3g} FLOPs to train on {planned:,} target tokens "
            f"({training.max_steps:,} steps of at most {step:,})"
        )
    else:
        click.echo("training.max_steps is not set, so the total depends on the text")
