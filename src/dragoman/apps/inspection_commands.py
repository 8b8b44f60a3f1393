"""Commands that look before anything is trained: doctor and cost."""

import click


@click.command()
def doctor() -> None:
    """x."""


@click.command()
def cost() -> None:
    """x."""
