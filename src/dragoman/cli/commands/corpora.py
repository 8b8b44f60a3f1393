"""The command ``dragoman corpora``: list, search, get and where."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.cli import declare
from dragoman.cli.options import json_option
from dragoman.workflows.results import print_json


@click.group()
def corpora() -> None:
    """Search, download and locate public corpora.

    They are stored in the folder that the environment variable DRAGOMAN_CORPORA names, or else in
    ~/.local/share/dragoman/corpora.

    \b
    Example: get the corpus of a recipe, and train
      dragoman corpora get multi30k
      dragoman train multi30k-ende-tiny
    Example: find text in two languages, and get it
      dragoman corpora search en ko
      dragoman corpora get mtdata:OPUS-wikimedia-v20230407-eng-kor
    """


@corpora.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the corpora: languages, download size, licence, and whether they are present.

    Those marked "from copy" cannot be downloaded; "get --from" takes them from a folder.  Corpora
    that were fetched by the names of other lists follow.

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
@click.argument("source")
@click.argument("target")
@declare.options("""
    --match TEXT
        Only names that contain TEXT.
    --all as every_version
        All versions of a corpus, not only the newest.
""")
@json_option
def search(source: str, target: str, match: str | None, every_version: bool, as_json: bool) -> None:
    """List the corpora that have text in two languages: ours, and those that mtdata lists.

    mtdata's list of about 290,000 comes with the package of this name; nothing is downloaded.  It
    knows no sizes; "get --dry-run" asks for them.

    \b
    Examples:
      dragoman corpora search en ko
      dragoman corpora search en zh-Hant --match wiki
    """
    from dragoman.workflows.corpora.searching import search_corpora

    found = search_corpora(source, target, match, every_version=every_version)
    if as_json:
        print_json([corpus._asdict() for corpus in found.corpora])
        return
    width = max((len(corpus.name) for corpus in found.corpora), default=0)
    for corpus in found.corpora:
        licence = corpus.licence or "licence: see its page"
        there = "present" if corpus.present else ""
        click.echo(f"{corpus.name:<{width}}  {there:<7}  {licence}  {corpus.home}")
    if found.older:
        click.echo(f"{found.older} older versions are left out; --all shows them", err=True)


@corpora.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@declare.options("""
    --from DIRECTORY: PATH as source
        Take a local copy instead of the web: files or archives, in DIRECTORY or DIRECTORY/NAME.
    --languages SOURCE,TARGET
        Languages of source and target, for corpora of other lists; by default as they are listed.
    --keep-duplicates
        Keep pairs that occur twice, within such a corpus or in an earlier one of the same command.
    --dry-run
        Show size, licence and citation, and download nothing.
""")
def get(
    names: tuple[str, ...],
    source: Path | None,
    languages: str | None,
    keep_duplicates: bool,
    dry_run: bool,
) -> None:
    """Download corpora by NAME, verify them, and lay them out as the recipes expect.

    NAME is of "dragoman corpora list", or mtdata:NAME of "dragoman corpora search", or
    hf:datasets/ORG/NAME[@REVISION][#SUBSET] of the Hugging Face Hub.  For the last two, the part of
    a recipe that reads them is printed.

    Shows the terms of use first.  After an interruption the same command continues.  Files that
    exist already are verified; those with other content are never replaced.

    \b
    Examples:
      dragoman corpora get multi30k homeassistant
      dragoman corpora get multi30k --from /data/multi30k
      dragoman corpora get multi30k wesnoth --from /data
      dragoman corpora get mtdata:OPUS-wikimedia-v20230407-eng-kor > part.yaml
      dragoman corpora get hf:datasets/Helsinki-NLP/opus-100 --languages en,ko
    """
    from dragoman.workflows.corpora.fetch import FetchOptions, fetch_listed, is_listed
    from dragoman.workflows.corpora.get import announce
    from dragoman.workflows.corpora.get import get as get_all
    from dragoman.workflows.corpora.listed_corpus import language_pair
    from dragoman.workflows.corpora.recipe_part import recipe_part
    from dragoman.workflows.progress import tell

    ours = [name for name in names if not is_listed(name)]
    listed = [name for name in names if is_listed(name)]
    if not listed and (languages is not None or keep_duplicates):
        raise click.UsageError(
            "--languages and --keep-duplicates need a corpus of another list, such as mtdata:NAME"
        )
    options = FetchOptions(
        languages=None if languages is None else language_pair(languages.split(",")),
        source=source,
        keep_duplicates=keep_duplicates,
        only_show=dry_run,
    )
    if dry_run:
        for name in ours:
            announce(name, tell)
    elif ours:
        get_all(ours, source, tell)
    if fetched := fetch_listed(listed, options, tell) if listed else []:
        click.echo(recipe_part(fetched), nl=False)


@corpora.command()
@click.argument("name", required=False)
def where(name: str | None) -> None:
    """Print the folder of all corpora, or of the corpus NAME, whether it exists or not.

    \b
    Example:
      zcat "$(dragoman corpora where multi30k)/train.en.gz" | head
    """
    from dragoman.text.corpora.corpus_manifest import corpus
    from dragoman.text.public_corpora import corpora_folder, listed_folder

    folder = listed_folder(name) if name is not None else None
    if name is not None and folder is None:
        corpus(name)
    click.echo(folder or corpora_folder() / (name or ""))
