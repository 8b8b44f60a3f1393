"""The command that turns translations into numbers: evaluate."""

import click


@click.command()
def evaluate() -> None:
    """x."""
