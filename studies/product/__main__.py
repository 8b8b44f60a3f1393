"""The command ``python -m studies.product``."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.cli.option_types import PATH
from dragoman.cli.options import json_option
from dragoman.core.errors import DataError
from dragoman.text.lines import read_lines
from dragoman.workflows.progress import quiet_option, tell
from studies.command import StudyCommand, present
from studies.product.catalogues import PACKAGES, get_catalogues
from studies.product.strings import figures_of


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def product() -> None:
    """Strings of published packages, as text to learn from and to translate."""


@product.command(cls=StudyCommand, params=[quiet_option])
@click.argument("output", metavar="FOLDER", type=PATH)
@click.option("--source", default="en", show_default=True, help="Language of the sources.")
@click.option("--target", default="de", show_default=True, help="Language of the catalogues.")
@click.option(
    "--package",
    "packages",
    multiple=True,
    help=f"A package for pip; may be repeated.  [default: {', '.join(PACKAGES)}]",
)
def get(output: Path, source: str, target: str, packages: tuple[str, ...]) -> None:
    """Get packages, and write the pairs of their gettext catalogues into FOLDER.

    FOLDER gets train.tsv, dev.tsv and test.tsv, divided as "dragoman init" divides a text, and the
    packages in site/.

    \b
    Example:
      python -m studies.product get runs/product/catalogues --target fr
    """
    sizes = get_catalogues(packages or PACKAGES, source, target, output)
    tell(f"{output}: " + ", ".join(f"{name} {count:,} pairs" for name, count in sizes.items()))


@product.command(cls=StudyCommand)
@click.argument("source", type=PATH)
@click.argument("translations", nargs=-1, required=True, type=PATH)
@click.option("--output", metavar="FILE", type=PATH, help="Also write the figures here.")
@json_option
def strings(
    source: Path, translations: tuple[Path, ...], output: Path | None, *, as_json: bool
) -> None:
    """Count the TRANSLATIONS that have the placeholders, tags, addresses and numbers of SOURCE.

    "right" are the lines with such strings whose translation has the same and no others, in per
    cent, and "invented" the other lines whose translation has some.  A number in words is none.

    \b
    Example:
      python -m studies.product strings text/test.source translations/plain.test
    """
    sources = list(read_lines(source))
    values = {}
    for file in translations:
        lines = list(read_lines(file))
        if len(lines) != len(sources):
            raise DataError(f"{file}: {len(lines)} lines, and {source} has {len(sources)}")
        values[str(file)] = figures_of(zip(sources, lines, strict=True)).to_json()
    present(values, lambda: _table(values), output, as_json=as_json)


def _table(values: dict[str, dict[str, float]]) -> str:
    width = max(map(len, values))
    rows = [f"{'':<{width}}   lines  with strings  right  invented"]
    rows += [
        f"{name:<{width}}  {one['lines']:6.0f}  {one['with_strings']:12.0f}  {one['share']:5.1f}  "
        f"{one['invented']:8.0f}"
        for name, one in values.items()
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    product()
