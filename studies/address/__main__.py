"""The command ``python -m studies.address``."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.core.errors import DataError
from dragoman.text.lines import read_lines
from studies.address.forms import changed, forms
from studies.command import StudyCommand


@click.command(cls=StudyCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def address(files: tuple[Path, ...]) -> None:
    """Count how the German lines of FILES address their reader, in per cent of the lines.

    "old" is a capital Ihr, Euch or Euer; where the lines say Sie, an Ihr may be its possessive.
    With several FILES, translations of the same text, "changed" are the lines that differ from the
    first file's.

    \b
    Example:
      python -m studies.address as-ui.de as-office.de
    """
    texts = [list(read_lines(file)) for file in files]
    first = texts[0]
    for file, lines in zip(files, texts, strict=True):
        if len(lines) != len(first):
            raise DataError(
                f"{file}: {len(lines)} lines, and {files[0]} has {len(first)}; give translations "
                "of the same text"
            )
    width = max(len(str(file)) for file in files)
    click.echo(f"{'':<{width}}   lines     du    Sie    old  changed")
    for file, lines in zip(files, texts, strict=True):
        du, sie, old = forms(lines)
        click.echo(
            f"{file!s:<{width}}  {len(lines):6}  {du:5.1f}  {sie:5.1f}  {old:5.1f}  "
            f"{changed(lines, first):7.1f}"
        )


if __name__ == "__main__":
    address()
