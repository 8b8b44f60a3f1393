"""The command ``python -m studies.tables``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli.option_types import PATH, Number
from dragoman.core.errors import ConfigError, DragomanError, InterruptedRunError
from dragoman.workflows.progress import quiet_option, tell
from studies.command import StudyCommand

if TYPE_CHECKING:
    from studies.tables.work import Work
    from studies.tables.workplace import Workplace


@click.command(
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("table", metavar="TABLE.yaml", type=PATH)
@click.option(
    "--output",
    metavar="DIRECTORY",
    type=PATH,
    required=True,
    help="Where runs, translations and the table are, and go.",
)
@click.option("--only", metavar="ROW", multiple=True, help="Make this row alone; may be repeated.")
@click.option(
    "--minutes",
    metavar="N",
    type=Number(min=0, min_open=True),
    help="Stop and save after N minutes; the next call goes on.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    help="Train and translate N at once, on many cores or a GPU.  [default: 1]",
)
@click.option("--list", "listing", is_flag=True, help="List rows and what each still needs.")
@click.option(
    "--commands", is_flag=True, help="Print the commands that are left, to be run by hand."
)
def tables(
    *,
    table: Path,
    output: Path,
    only: tuple[str, ...],
    minutes: float | None,
    jobs: int,
    listing: bool,
    commands: bool,
) -> None:
    """Make a table of results: train what is not trained, translate, score, and write it.

    Everything runs by Dragoman's own commands, row by row, and is kept: the same command goes on
    where it was stopped, and takes runs that were trained by hand at the same place.  Several calls
    may work on one table at once.  Writes table.md and table.json after every row; figures that are
    not there yet say why.

    \b
    Example:
      python -m studies.tables recipes/multilingual/table.yaml --output runs/multilingual
    """
    from studies.tables.plan import read_table
    from studies.tables.workplace import Workplace

    place = Workplace(read_table(table), table, output)
    rows = _chosen(place, only)
    if listing or commands:
        from studies.tables.listing import list_rows, remaining_commands

        show = list_rows if listing else remaining_commands
        for line in show(place, rows):
            click.echo(line)
        return
    _carry_out(place, rows, minutes, jobs)


def _chosen(place: Workplace, only: tuple[str, ...]) -> list[str]:
    """The rows to make, in the order of the table."""
    rows = list(place.table.rows())
    if unknown := [name for name in only if name not in rows]:
        raise ConfigError(f"--only {unknown[0]}: no such row; rows are {', '.join(rows)}")
    return [name for name in rows if not only or name in only]


def _carry_out(place: Workplace, rows: list[str], minutes: float | None, jobs: int) -> None:
    from dragoman.evaluation.metrics import check_installed
    from dragoman.training.interruption import Interruption
    from studies.tables.page import page
    from studies.tables.result import write_result
    from studies.tables.running import CommandRunner, StoppedError
    from studies.tables.scoring import evaluation_of
    from studies.tables.work import Work, cells

    for test in sorted({cell.test for row in rows for cell in cells(place, row)}):
        check_installed(evaluation_of(place, test))  # otherwise this would fail hours later
    interruption = Interruption()
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    work = Work(place, CommandRunner(interruption, deadline, jobs=jobs), tell)
    stopped = False
    with interruption.listening():
        try:
            work.carry_out(rows, lambda: write_result(work))
        except StoppedError:
            stopped = True
        found = write_result(work)
    click.echo(page(place.table, found), nl=False)
    tell(f"written: {place.output / 'table.md'} and table.json")
    _conclude(work, stopped)


def _conclude(work: Work, stopped: bool) -> None:
    received = work.runner.interruption.signal
    if received is not None:
        raise InterruptedRunError("stopped; everything is saved; repeat the command", received)
    if work.failures:
        listed = "; ".join(work.failures.values())
        raise DragomanError(f"{len(work.failures)} failed, the rest went on: {listed}")
    if stopped:
        tell("the time is over; everything is saved; repeat the command to go on")


if __name__ == "__main__":
    tables()
