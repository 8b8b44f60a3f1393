"""The command ``python -m soak.fuzzing``: one target or all, for a while, or one input again."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from soak.fuzzing.all_targets import TARGETS
from soak.fuzzing.attack import Attack
from soak.fuzzing.target import Hostile
from soak.fuzzing.trying import try_each


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice(sorted(TARGETS)), metavar="[TARGET]...")
@click.option("--seconds", type=float, default=10.0, show_default=True, help="For each target.")
@click.option("--inputs", type=int, help="Damaged inputs at most, for each target.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of all that is random.")
@click.option(
    "--input",
    "again",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Try this file alone.",
)
@click.option("--name", help="Of the input for the target; by default, that of the file.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs/fuzzing"),
    show_default=True,
    help="For inputs that fail.",
)
@click.option("--list", "listing", is_flag=True, help="List the targets and end.")
def fuzz(
    names: tuple[str, ...],
    seconds: float,
    inputs: int | None,
    seed: int,
    again: Path | None,
    name: str | None,
    output: Path,
    listing: bool,
) -> None:
    """Give readers hostile input; all of them unless TARGETs are named.

    The exit code is 1 if anything failed.

    \b
    Examples:
      python -m soak.fuzzing --list
      python -m soak.fuzzing tmx html --seconds 60
    """
    if listing:
        click.echo("\n".join(TARGETS))
        return
    if again is not None and len(names) != 1:
        raise click.UsageError("--input needs the name of one target")
    failed = 0
    for one in names or TARGETS:
        mine = output.resolve() / one
        mine.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            target = TARGETS[one](Path(work))
            if again is not None:
                hostile = Hostile(name or again.name, again.read_bytes())
                (outcome,) = try_each(target, [hostile], mine)
                click.echo(f"{outcome.kind} {outcome.place}\n{outcome.detail}")
                sys.exit(not outcome.is_good)
            tried = Attack(target, seed, mine).run(seconds, inputs)
        figures = ", ".join(f"{what} {value}" for what, value in tried.figures.items())
        click.echo(f"{one}: {tried.times:,} inputs, {figures}, {len(tried.failures)} failures")
        for failure in tried.failures:
            click.echo(f"  {failure}")
        failed += len(tried.failures)
    sys.exit(failed > 0)


if __name__ == "__main__":
    fuzz()
