"""The command ``python -m soak.round_trips``: files in folders, translated and compared."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dragoman.documents.filetypes import file_suffixes
from soak.round_trips.trips import AIM, files_in, round_trips


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice([one.removeprefix(".") for one in file_suffixes()]),
    help="Only files of this suffix. By default, all.",
)
@click.option("--show", type=int, default=3, show_default=True, help="Faults shown of each file.")
def main(folders: tuple[Path, ...], formats: tuple[str, ...], show: int) -> None:
    """Translate files by services that reverse words or write capitals, and compare.

    Nothing is written. The exit code is 1 if fewer than 99.5 % of the files of a format are intact.
    """
    suffixes = [f".{one}" for one in formats] or file_suffixes()
    found = round_trips(files_in(folders, suffixes))
    for trips in found.values():
        for path, faults in trips.faults.items():
            for fault in faults[:show]:
                click.echo(f"{path}: {fault}")
    click.echo(f"{'format':8}{'tried':>8}{'intact':>8}{'share':>9}{'refused':>9}")
    for suffix, trips in sorted(found.items()):
        share = trips.intact / max(1, trips.tried)
        row = f"{suffix[1:]:8}{trips.tried:8}{trips.intact:8}{share:9.1%}{trips.refused:9}"
        click.echo(row)
    missed = [one for one in found.values() if one.intact < AIM * one.tried]
    sys.exit(bool(missed) or not found)


if __name__ == "__main__":
    main()
