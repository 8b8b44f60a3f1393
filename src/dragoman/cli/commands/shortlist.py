"""The command that builds a shortlist: shortlist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import check_replaceable, json_option, pairs_options
from dragoman.core.wording import in_shell
from dragoman.workflows.progress import counting
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.saved.shortlist import Shortlist


@click.command()
@click.argument("model", type=PATH)
@click.argument("files", metavar="[FILES]...", type=PATH, nargs=-1)
@pairs_options
@declare.options("""
    --likeliest K: 1 <= int <= 100000 = 50
        Target pieces for each source piece.
    --frequent F: 0 <= int <= 1000000 = 1000
        Number of most frequent target pieces, allowed in every line.
    --pairs N: 1 <= int
        Read only N pairs: evenly spaced ones of a run, the first ones of FILES.  [default: all]
    --output FILE: FILE
        Write the shortlist to FILE, for 'translate --shortlist-file FILE'.  [default:
        shortlist.safetensors beside the weights of MODEL]
""")
@json_option
def shortlist(
    model: Path,
    files: tuple[Path, ...],
    *,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """List which target pieces may translate each source piece, so that MODEL translates faster.

    MODEL is a run, whose training text is read, or a model, with FILES: one with both sides or two
    plain ones, source first.  An aligner learns from the pairs which pieces translate each other.
    'translate --shortlist' then computes the scores of those pieces alone.

    \b
    Examples:
      dragoman shortlist runs/my
      dragoman shortlist models/my train.en train.de --likeliest 200
    """
    place = _place(model, files, output)
    built = _built(model, files, options)
    from dragoman.saved.shortlist import write_shortlist

    write_shortlist(place, built)
    size = {
        "pairs": built.origin.pairs,
        "pieces_per_source_piece": len(built.table.pieces) / (len(built.table.starts) - 1),
        "always": len(built.always),
        "output": str(place),
    }
    if as_json:
        print_json(size)
        return
    given = "--shortlist" if output is None else f"--shortlist-file {in_shell(place)}"
    click.echo(
        f"{size['pairs']:,} pairs: {size['pieces_per_source_piece']:.1f} target pieces for each "
        f"source piece, and {size['always']:,} for every line\nWritten: {place}\n"
        f"Use it: dragoman translate {in_shell(model)} {given} < input.txt"
    )


def _place(model: Path, files: tuple[Path, ...], output: Path | None) -> Path:
    """The place of the shortlist; refused now if it cannot be written at the end."""
    from dragoman.core.errors import ConfigError
    from dragoman.saved.model import CONFIG_FILE, SHORTLIST_FILE, model_directory
    from dragoman.saved.shortlist import is_shortlist
    from dragoman.techniques.shortlist_building import check_translation_model

    check_translation_model(model)
    if output is None:
        directory = model_directory(model)
        if not (directory / CONFIG_FILE).is_file():
            raise ConfigError(
                f"{directory}: a checkpoint holds nothing but what resumes it; name a file with "
                "--output"
            )
        return directory / SHORTLIST_FILE
    inputs = [*files, *_files_of(model)]
    check_replaceable(output, inputs, is_shortlist, "is no shortlist", "my.safetensors")
    return output


def _files_of(model: Path) -> list[Path]:
    """The files of a model or run, except the shortlist, which may be replaced."""
    from dragoman.data.store import DATA_DIRECTORY, FILE_NAMES
    from dragoman.saved.model import MODEL_FILES, SHORTLIST_FILE, home_of, model_directory

    directory = model_directory(model)
    names = MODEL_FILES - {SHORTLIST_FILE}
    own = [folder / name for folder in (model, directory, home_of(directory)) for name in names]
    return [*own, *(model / DATA_DIRECTORY / name for name in FILE_NAMES)]


def _built(model: Path, files: tuple[Path, ...], options: dict[str, Any]) -> Shortlist:
    from dragoman.techniques.shortlist_building import (
        build_shortlist,
        count_links,
        pairs_of_files,
        pairs_of_run,
    )
    from dragoman.workflows.material import Choice, find_part

    limit, total = options["pairs"], None
    if files:
        choice = Choice(options["source"], options["target"], options["file_format"])
        part, _ = find_part(files, choice)
        vocabularies, pairs = pairs_of_files(model, part, limit)
        text = " ".join(map(str, files))
    else:
        given = [name for name in ("source", "target", "file_format") if options[name]]
        if given:
            flag = given[0].replace("file_", "")
            raise click.UsageError(f"--{flag} is of FILES; name them, or leave it out")
        vocabularies, total, pairs = pairs_of_run(model, limit)
        text = f"training text of {model.name}"
    with counting("aligning", "pairs", total) as progress:
        links = count_links(vocabularies, pairs, text=text, progress=progress)
    return build_shortlist(
        vocabularies,
        links,
        likeliest=options["likeliest"],
        frequent=options["frequent"],
        text=text,
    )
