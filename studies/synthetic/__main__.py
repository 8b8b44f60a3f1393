"""The command ``python -m studies.synthetic``."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.text.synthetic import write_splits
from studies.command import StudyCommand


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def synthetic() -> None:
    """Generate the embedded corpus."""


@synthetic.command(cls=StudyCommand)
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--rows", default=20_000, show_default=True, help="Training rows.")
@click.option("--dev", default=1000, show_default=True, help="Rows for choosing a model.")
@click.option("--test", default=1000, show_default=True, help="Rows for measuring it.")
@click.option("--seed", default=1, show_default=True, help="Seed of the random draws.")
def write(directory: Path, rows: int, dev: int, test: int, seed: int) -> None:
    """Write train.tsv, dev.tsv and test.tsv, of any size and seed.

    \b
    Example:
      python -m studies.synthetic write corpus --rows 100000 --seed 2
    """
    from studies.synthetic import generator

    for path in write_splits(directory, generator.generate(rows, seed, dev=dev, test=test)):
        click.echo(path)


@synthetic.command(cls=StudyCommand)
@click.option("--check", is_flag=True, help="Write nothing; check the installed corpus.")
def pack(check: bool) -> None:
    """Write the corpus that is installed with Dragoman.

    \b
    Example:
      python -m studies.synthetic pack --check
    """
    from studies.synthetic import packing

    if check:
        packing.check()
        click.echo(f"{packing.PLACE}: as the generator draws it")
    else:
        packing.pack()
        click.echo(f"{packing.PLACE}: {packing.PLACE.stat().st_size:,} bytes")


if __name__ == "__main__":
    synthetic()
