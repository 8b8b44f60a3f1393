"""The command ``python -m soak``; ``make soak`` runs it in an environment that has all it needs."""

from __future__ import annotations

import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from soak.part import Allowance, Tried
from soak.parts import PARTS, find_part


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--hours",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    envvar="SOAK_HOURS",
    help="How long in all; what a part does not need, others have.  Also SOAK_HOURS.",
)
@click.option(
    "--only", multiple=True, type=click.Choice(sorted(PARTS)), help="Only this part; repeatable."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of all that is random.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs/soak"),
    show_default=True,
    help="Where the report goes, and what the parts leave; a new directory for each soak in it.",
)
@click.option("--list", "listing", is_flag=True, help="List the parts and end.")
def soak(hours: float, only: tuple[str, ...], seed: int, output: Path, listing: bool) -> None:
    """Try for hours what must never fail, and write a report.

    The exit code is 1 if anything failed.

    \b
    Examples:
      python -m soak --list
      python -m soak --hours 0.1 --only kills
    """
    names = [name for name in PARTS if not only or name in only]
    parts = {name: find_part(name) for name in names}
    if listing:
        for name, part in parts.items():
            click.echo(f"{name:12} {part.about}")
        return
    from soak.report import write_report  # here, since it needs torch

    folder = output / time.strftime("%Y-%m-%d-%H%M%S")
    end = time.monotonic() + hours * 3600
    waiting = [part.share for part in parts.values()]
    results: dict[str, list[Tried]] = {}
    seconds: dict[str, float] = {}
    path = None
    for name, part in parts.items():
        mine = folder / name
        mine.mkdir(parents=True)
        allowed = max(0.0, end - time.monotonic()) * part.share / sum(waiting)
        waiting.pop(0)
        click.echo(f"{name}: {allowed / 60:.0f} minutes at most; {part.about}", err=True)
        allowance = Allowance(allowed, seed, mine.resolve())
        try:
            with _ending_in_order():
                results[name] = part.run(allowance)
        except Exception:
            results[name] = [Tried("the part itself", 1, failures=(traceback.format_exc(),))]
        seconds[name] = time.monotonic() - allowance.started
        path = write_report(folder, results, seconds, seed)  # after each, for whoever stops it
    failed = sum(len(one.failures) for tried in results.values() for one in tried)
    click.echo(f"{path}: {failed} failures")
    sys.exit(failed > 0)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM leave blocks one after another, which end what they have started or mounted."""

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt that
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    soak()
