"""The command that compares recipes: compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from dragoman.recipe import ExperimentConfig
    from dragoman.workflows.compare import Comparison, Contest
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
    --seeds SEED,... as seeds
        Train each recipe with each of these seeds, two or more, and compare means over seeds.
        [default: the seed of each recipe]
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
    seeds: tuple[str, ...],
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
      dragoman compare base.yaml variant.yaml --seeds 1,2,3 --output runs/variant
    """
    from dragoman.workflows.compare import Budget, Contest

    tracking = chosen_trackers(options, output)
    if flops is not None and minutes is not None:
        raise click.UsageError("--flops and --minutes exclude each other")
    numbers = _numbers(seeds)
    contests = {
        place: Contest.begin(
            _configs(recipes, own),
            place,
            Budget(flops, minutes),
            ensembles=[names.split("+") for names in ensembles],
            test_set=test_set,
        )
        for place, own in _by_seed(output, settings, numbers).items()
    }
    if only_plan:
        if as_json:
            left = [one for contest in contests.values() for one in _left_values(contest)]
            print_json({"output": str(output), "left": left})
        else:
            click.echo("\n".join(map(_what_is_left, contests.values())))
        return
    found = {place: contest.carry_out(tracking) for place, contest in contests.items()}
    paths, values, text = _written(found, output, numbers)
    if as_json:
        print_json(values)
        return
    click.echo(text)
    click.echo("\n" + "\n".join(f"Written: {path}" for path in paths))


def _numbers(seeds: Sequence[str]) -> list[int]:
    numbers = list(dict.fromkeys(int(seed) for seed in seeds if seed.isdecimal()))
    if seeds and (len(numbers) < 2 or len(numbers) < len(seeds)):
        raise click.UsageError(
            f"--seeds {','.join(seeds)}: give two or more different whole numbers, such as 1,2,3; "
            "for one: --set seed=2"
        )
    return numbers


def _by_seed(
    output: Path, settings: tuple[str, ...], seeds: Sequence[int]
) -> dict[Path, tuple[str, ...]]:
    """The settings of each comparison, by its directory."""
    from dragoman.workflows.compare.seeds import check_output, place_of

    if not seeds:
        return {output: settings}
    check_output(output)
    return {place_of(output, seed): (*settings, f"seed={seed}") for seed in seeds}


def _configs(recipes: Sequence[Path], settings: tuple[str, ...]) -> dict[str, ExperimentConfig]:
    """The recipes by name."""
    from dragoman.core.errors import ConfigError
    from dragoman.recipe import read_experiment

    configs: dict[str, ExperimentConfig] = {}
    for recipe in recipes:
        if recipe.stem in configs:
            raise ConfigError(f"{recipe}: two recipes are named {recipe.stem}; rename one")
        if "+" in recipe.stem or recipe.stem == "translations":
            raise ConfigError(f"{recipe}: a comparison reserves this name; rename the recipe")
        configs[recipe.stem] = read_experiment(recipe, settings)
    return configs


def _written(
    found: Mapping[Path, Comparison], output: Path, seeds: Sequence[int]
) -> tuple[list[Path], dict[str, Any], str]:
    """The files that were written, and what they say as plain values and as text."""
    from dragoman.workflows.compare.seeds import over_seeds, seed_table, write_seeds
    from dragoman.workflows.compare.table import table, write_comparison

    paths = [path for place, one in found.items() for path in write_comparison(one, place)]
    comparisons = list(found.values())
    if not seeds:
        return paths, comparisons[0].to_json(), table(comparisons[0])
    together = over_seeds(dict(zip(seeds, comparisons, strict=True)))
    return paths + write_seeds(together, output), together.to_json(), seed_table(together)


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
