"""The command ``dragoman corpora``: list, get and where."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.cli import declare
from dragoman.cli.options import json_option
from dragoman.workflows.results import print_json


@click.group()
def corpora() -> None:
    """Download and locate the public corpora that the recipes use.

    They are stored in the folder that the environment variable DRAGOMAN_CORPORA names, or else in
    ~/.local/share/dragoman/corpora.

    \b
    Example: get the corpus of a recipe, and train
      dragoman corpora get multi30k
      dragoman train multi30k-ende-tiny
    """


@corpora.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the corpora: languages, download size, licence, and whether they are present.

    Those marked "from copy" cannot be downloaded; "get --from" takes them from a folder.

    \b
    Example:
      dragoman corpora list
    """
    from dragoman.workflows.corpora.get import listing

    known = listing()
    if as_json:
        print_json(known)
        return
    width = max(len(corpus["name"]) for corpus in known)
    for corpus in known:
        there = "present" if corpus["present"] else "missing"
        size = corpus["download_bytes"]
        told = "from copy" if size is None else f"{size / 1e6:,.0f} MB"
        click.echo(f"{corpus['name']:<{width}}  {there:<9}  {told:>9}  {corpus['licence']}")
        click.echo(f"{'':<{width}}  {corpus['about']} ({', '.join(corpus['languages'])})")


@corpora.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@declare.options("""
    --from DIRECTORY: PATH as source
        Take a local copy instead of the web: files or archives, in DIRECTORY or DIRECTORY/NAME.
""")
def get(names: tuple[str, ...], source: Path | None) -> None:
    """Download corpora by NAME, verify them, and lay them out as the recipes expect.

    Shows the terms of use first.  After an interruption the same command continues.  Files that
    exist already are verified; those with other content are never replaced.

    \b
    Examples:
      dragoman corpora get multi30k homeassistant
      dragoman corpora get multi30k --from /data/multi30k
      dragoman corpora get multi30k wesnoth --from /data
    """
    from dragoman.workflows.corpora.get import get as get_all
    from dragoman.workflows.progress import tell

    get_all(names, source, tell)


@corpora.command()
@click.argument("name", required=False)
def where(name: str | None) -> None:
    """Print the folder of all corpora, or of the corpus NAME, whether it exists or not.

    \b
    Example:
      zcat "$(dragoman corpora where multi30k)/train.en.gz" | head
    """
    from dragoman.text.corpora.corpus_manifest import corpus
    from dragoman.text.public_corpora import corpora_folder

    if name is not None:
        corpus(name)
    click.echo(corpora_folder() / (name or ""))
