"""The command that compares recipes: compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import RECIPE
from dragoman.cli.options import json_option, set_option
from dragoman.cli.tracker_options import chosen_trackers, tracker_options
from dragoman.core.wording import in_shell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:  # these take seconds to import, and --help does not need them
    from dragoman.workflows.compare import Contest
    from dragoman.workflows.compare.plan import Planned


@click.command()
@click.argument("recipes", metavar="RECIPE...", type=RECIPE, nargs=-1, required=True)
@declare.options("""
    --flops: 0 < number
        Training FLOPs per recipe.
    --minutes: 0 < number
        Minutes of training per recipe, converted to steps by a trial on this machine.
    --output DIRECTORY: PATH = runs/comparison
        Directory for runs, table and picture.
    --ensemble NAME+NAME... as ensembles
        Add an ensemble of these recipes as a row; may be repeated.
    --test-set NAME
        Test set to compare on, or dev.  [default: the first test set of the first recipe, or else
        dev]
    --plan as only_plan
        Create the runs without training them.
""")
@set_option
@tracker_options
@json_option
def compare(
    recipes: tuple[Path, ...],
    settings: tuple[str, ...],
    *,
    flops: float | None,
    minutes: float | None,
    output: Path,
    ensembles: tuple[str, ...],
    test_set: str | None,
    only_plan: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train several RECIPEs on one budget and compare their scores, speeds and costs.

    Each gets the same training FLOPs or minutes; with neither, its own limits apply.  The table
    shows scores with confidence intervals, the difference from the first recipe with its p-value,
    parameters, operations and speeds.  After an interruption the same command continues.  Runs
    created with --plan can also be trained with 'dragoman resume', here or elsewhere.

    \b
    Examples:
      dragoman compare recipes/multi30k-ende-{tiny,recurrent,convs2s}.yaml --flops 3e14
      dragoman compare a.yaml b.yaml --minutes 20 --ensemble a+b --output runs/a-or-b
    """
    from dragoman.core.errors import ConfigError
    from dragoman.recipe import read_experiment
    from dragoman.workflows.compare import Budget, Contest
    from dragoman.workflows.compare.table import table, write_comparison

    tracking = chosen_trackers(options, output)
    if flops is not None and minutes is not None:
        raise click.UsageError("--flops and --minutes exclude each other")
    configs = {}
    for recipe in recipes:
        if recipe.stem in configs:
            raise ConfigError(f"{recipe}: two recipes are named {recipe.stem}; rename one")
        if "+" in recipe.stem or recipe.stem == "translations":
            raise ConfigError(f"{recipe}: a comparison reserves this name; rename the recipe")
        configs[recipe.stem] = read_experiment(recipe, settings)
    contest = Contest.begin(
        configs,
        output,
        Budget(flops, minutes),
        ensembles=[names.split("+") for names in ensembles],
        test_set=test_set,
    )
    if only_plan:
        if as_json:
            print_json({"output": str(output), "left": _left_values(contest)})
        else:
            click.echo(_what_is_left(contest))
        return
    comparison = contest.carry_out(tracking)
    paths = write_comparison(comparison, output)
    if as_json:
        print_json(comparison.to_json())
        return
    click.echo(table(comparison))
    click.echo("\n" + "\n".join(f"Written: {path}" for path in paths))


def _left(contest: Contest) -> list[Planned]:
    from dragoman.saved.model import has_model

    return [recipe for recipe in contest.recipes if not has_model(recipe.experiment.run)]


def _left_values(contest: Contest) -> list[dict[str, Any]]:
    return [
        {
            "name": recipe.name,
            "run": str(recipe.experiment.run),
            "steps": recipe.experiment.config.training.max_steps,
            "target_tokens_per_step": recipe.tokens_per_step,
        }
        for recipe in _left(contest)
    ]


def _what_is_left(contest: Contest) -> str:
    """The commands that train the remaining recipes."""
    left = _left(contest)
    if not left:
        return f"Nothing left to train in {contest.output}; repeat this command without --plan"
    lines = [f"Created in {contest.output}; train with 'dragoman resume', or repeat this command"]
    for recipe in left:
        steps = recipe.experiment.config.training.max_steps
        size = f"{steps:,} steps" if steps else "no limit on steps"
        tokens = f"{recipe.tokens_per_step:,.0f} target tokens"
        lines.append(f"  dragoman resume {in_shell(recipe.experiment.run)}  # {size} of {tokens}")
    return "\n".join(lines)
