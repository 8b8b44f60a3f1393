"""The command ``dragoman corpora``: list, get and where."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dragoman.apps.cli.options import EXISTING, json_option


@click.group()
def corpora() -> None:
    """Get the public corpora that the recipes name, and say where they lie.

    They lie in the folder that the environment variable DRAGOMAN_CORPORA names, or else in
    ~/.local/share/dragoman/corpora.

    \b
    Example: what a recipe on Multi30k needs
      dragoman corpora get multi30k
      dragoman train multi30k-ende-tiny
    """


@corpora.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the corpora: languages, size of the download, licence, and whether they are there.

    \b
    Example:
      dragoman corpora list
    """
    from dragoman.apps.corpora.get import listing

    found = listing()
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    width = max(len(one["name"]) for one in found)
    for one in found:
        there = "there" if one["present"] else "not there"
        size = f"{one['download_bytes'] / 1e6:,.0f} MB"
        click.echo(f"{one['name']:<{width}}  {there:<9}  {size:>8}  {one['licence']}")
        click.echo(f"{'':<{width}}  {one['about']} ({', '.join(one['languages'])})")


@corpora.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--from",
    "source",
    metavar="DIRECTORY",
    type=EXISTING,
    help="Take it from a copy instead of the web: laid out like the corpus, or its archives.",
)
def get(names: tuple[str, ...], source: Path | None) -> None:
    """Download corpora by NAME, verify them, and lay them out as the recipes name them.

    Says their terms first.  After an interruption the same command goes on.  What is there
    already is verified, and nothing of another content is replaced.

    \b
    Examples:
      dragoman corpora get multi30k homeassistant
      dragoman corpora get multi30k --from /data/multi30k
    """
    from dragoman.apps.corpora.get import get as get_all
    from dragoman.apps.progress import tell

    get_all(names, source, tell)


@corpora.command()
@click.argument("name", required=False)
def where(name: str | None) -> None:
    """Print the folder of the corpora, or of the one of this NAME, whether it is there or not.

    \b
    Example:
      zcat "$(dragoman corpora where multi30k)/train.en.gz" | head
    """
    from dragoman.apps.corpora.manifest import corpus
    from dragoman.text.public_corpora import corpora_folder

    if name is not None:
        corpus(name)
    click.echo(corpora_folder() / (name or ""))
