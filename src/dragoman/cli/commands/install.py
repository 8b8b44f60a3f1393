"""The commands ``dragoman install`` and ``dragoman pack``: models that travel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import MODEL, PATH
from dragoman.cli.options import is_given, json_option
from dragoman.core.text_tables import terminal_table


@click.command()
@click.argument("place", metavar="[FILE|DIRECTORY|URL]", required=False)
@declare.options(
    """
    --name: text
        Name of the model.  [default: that of the file or directory]
    --sha256 DIGEST
        SHA-256 that the archive must have.
    --force
        Replace a model of the same name.
    --list as lists
        List the installed models instead.
    """,
    sha256={"default": "", "show_default": False},
)
@json_option
def install(place: str | None, *, lists: bool, as_json: bool, **options: Any) -> None:
    """Install a model from an archive, a directory or a web address.

    Commands then take its name in place of a directory.  The archive is verified (with --sha256, a
    URL that ends in #sha256=DIGEST, or FILE.sha256 beside FILE), unpacked safely and opened before
    it takes its place; a server that has the model reloads it.  An interrupted download is resumed.

    Models are stored in the folder that the environment variable DRAGOMAN_MODELS names, or else in
    ~/.local/share/dragoman/models.

    \b
    Examples:
      dragoman install en-de.tar.gz
      dragoman install https://example.org/en-de.tar.zst#sha256=9f86d08...
      dragoman install runs/my --name en-de --force
      dragoman install --list
      dragoman serve en-de
    """
    if lists == (place is not None) or (lists and any(options.values())):
        raise click.UsageError("name what to install, or give --list alone")
    from dragoman.workflows.installing.install import install as install_model
    from dragoman.workflows.progress import tell
    from dragoman.workflows.results import print_json

    if place is None:
        _list(as_json=as_json)
        return
    if not place:
        raise click.UsageError("a path must not be empty")
    if is_given("sha256") and not options["sha256"]:
        raise click.UsageError("--sha256 is empty, so nothing would be verified; leave it out")
    directory = install_model(place, tell, **options)
    if as_json:
        print_json({"name": directory.name, "directory": str(directory)})
    else:
        click.echo(directory)


def _list(*, as_json: bool) -> None:
    from dragoman.workflows.installing.install import installed_models
    from dragoman.workflows.results import print_json

    models = installed_models()
    if as_json:
        print_json({"models": models})
        return
    rows = [
        [
            model["name"],
            "" if model["bytes"] is None else f"{model['bytes'] / 1e6:,.0f} MB",
            model["problem"] or ", ".join(model["directions"]),
        ]
        for model in models
    ]
    if rows:
        click.echo(terminal_table(rows, "lrl"))


@click.command()
@click.argument("model", type=MODEL)
@click.argument("output", metavar="OUTPUT.tar.gz|.tar.zst|.tar", type=PATH)
@json_option
def pack(model: Path, output: Path, as_json: bool) -> None:
    """Pack a MODEL into an archive for 'dragoman install', and write its digest beside it.

    MODEL is a model or run directory, or an installed model.  Only the model is packed, not the
    rest of a run; the same model gives the same archive.

    \b
    Example: share a model
      dragoman pack runs/my en-de.tar.zst
      sha256sum --check en-de.tar.zst.sha256
    """
    from dragoman.core.errors import SavedError
    from dragoman.saved.model import load_model
    from dragoman.workflows.installing.model_archives import pack as pack_model
    from dragoman.workflows.progress import counted_bytes
    from dragoman.workflows.results import print_json

    opened = load_model(model, "cpu").path  # only a model that opens is passed on
    if not (opened / "config.yaml").is_file():
        raise SavedError(
            f"{model}: a checkpoint; make a model of it with 'dragoman average', and pack that"
        )
    with counted_bytes("packing", None) as advance:
        digest = pack_model(opened, output, advance)
    if as_json:
        print_json({"output": str(output), "sha256": digest})
    else:
        click.echo(f"{digest}  {output}")
