"""Progress of commands on standard error.

It is a bar on a terminal, and an occasional plain line elsewhere, such as in a log file.
``--quiet`` turns it off, except for warnings and errors.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import click

if TYPE_CHECKING:
    from dragoman.techniques.host import ShowCount

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 30.0
"""Seconds between two plain lines of the same work."""
_SOON_SECONDS = 1.0  # shorter work gets no bar

_QUIET = "dragoman.quiet"
_FIGURES = {"loss": "loss {:.3f}", "round_trip": "round trip {:.2f}"}


def _be_quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.meta[_QUIET] = True  # a group shares it with its commands


quiet_option = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    expose_value=False,
    callback=_be_quiet,
    help="Print only results, warnings and errors.",
)
"""An option of every command, and of ``dragoman`` itself."""


def is_quiet() -> bool:
    """Whether the current command was given ``--quiet``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def write_line(line: str) -> None:
    """Write to standard error, above a progress bar if present."""
    if (bars := sys.modules.get("tqdm")) is not None:
        bars.tqdm.write(line, file=sys.stderr)
    else:
        click.echo(line, err=True)


def tell(line: str) -> None:
    """Report the present work, unless ``--quiet`` is given."""
    if not is_quiet():
        write_line(f"dragoman: {line}")


class Display(Protocol):
    """Shows the progress of some work."""

    def show(self, done: int, details: Sequence[str] = ()) -> None:
        """Show that ``done`` units are done; fewer than before if the work went back."""

    def close(self) -> None:
        """The work has ended or was interrupted."""


class _Nothing:
    """Shows nothing."""

    def show(self, done: int, details: Sequence[str] = ()) -> None:
        """Nothing to show."""

    def close(self) -> None:
        """Nothing to close."""


class _Bar:
    """A bar on a terminal; the keyword arguments are tqdm's."""

    def __init__(self, **options: Any) -> None:
        from tqdm.auto import tqdm  # not needed for --help

        self._bar = tqdm(file=sys.stderr, dynamic_ncols=True, **options)

    def show(self, done: int, details: Sequence[str] = ()) -> None:
        self._bar.set_postfix_str(", ".join(details), refresh=False)
        self._bar.update(done - self._bar.n)
        if details:
            self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class Lines:
    """Plain lines, one every half minute, and a last one for work that took longer.

    Args:
        sentence: maps the amount done, such as ``400 of 2,000``, to the beginning of a line.
        at_once: print a line at the first progress.
        unit: unit of the speed, such as ``lines``; without it, no speed is shown.
    """

    def __init__(
        self,
        sentence: Callable[[str], str],
        total: int | None,
        start: int = 0,
        *,
        at_once: bool = False,
        unit: str | None = None,
    ) -> None:
        self._sentence, self._total, self._start, self._unit = sentence, total, start, unit
        self._begun = monotonic()
        self._told = self._begun - INTERVAL_SECONDS if at_once else self._begun
        self._untold: tuple[int, Sequence[str]] | None = None

    def show(self, done: int, details: Sequence[str] = ()) -> None:
        """Print a line if the last one is old enough."""
        self._untold = (done, details)
        if monotonic() - self._told >= INTERVAL_SECONDS:
            self._print(done, details)

    def _print(self, done: int, details: Sequence[str]) -> None:
        self._told, self._untold = monotonic(), None
        count = f"{done:,}" if self._total is None else f"{done:,} of {self._total:,}"
        tell(", ".join([self._sentence(count), *details, *self._rest(done)]))

    def _rest(self, done: int) -> Iterator[str]:
        """The speed, if it is above one per second, and the time left, if it can be estimated."""
        passed, taken = done - self._start, monotonic() - self._begun
        if self._unit is not None and passed > taken > 0:
            yield f"{passed / taken:,.0f} {self._unit}/s"
        if self._total is not None and passed > 0 and self._total > done and taken > 0:
            yield f"{duration((self._total - done) * taken / passed)} left"

    def close(self) -> None:
        """Print the final state of long work."""
        if self._untold is not None and monotonic() - self._begun >= INTERVAL_SECONDS:
            self._print(*self._untold)


def _display(bar: Callable[[], Display], lines: Callable[[], Display]) -> Display:
    if is_quiet():
        return _Nothing()
    return bar() if sys.stderr.isatty() else lines()


@contextmanager
def counting(what: str, unit: str, total: int | None = None, start: int = 0) -> Iterator[ShowCount]:
    """Show the progress of some work while the block lasts.

    Args:
        what: the work, such as ``translating``.
        unit: of the count, in the plural.
        start: number done before.

    Yields:
        A function to call with the number done so far, and with further figures if available.
    """
    shown = _display(
        lambda: _Bar(
            desc=what,
            unit=f" {unit}",
            total=total,
            initial=start,
            delay=_SOON_SECONDS,
            leave=False,
        ),
        lambda: Lines(lambda count: f"{what}: {count} {unit}", total, start, unit=unit),
    )
    try:
        yield shown.show
    finally:
        shown.close()


class TrainingProgress:
    """An observer of training: step, loss, perplexity, speed, learning rate and time left.

    Loss and perplexity are of target tokens without label smoothing, like those of dev and test
    sets.

    Args:
        step: at which training begins or resumes.
    """

    def __init__(self, step: int, max_steps: int | None) -> None:
        self._shown = _display(
            lambda: _Bar(total=max_steps, initial=step, unit="step"),
            lambda: Lines(lambda count: f"step {count}", max_steps, step, at_once=True),
        )

    def record(self, record: dict[str, Any]) -> None:
        """Show a record, or print a line if it must not be missed."""
        step = record["step"]
        if record["kind"] == "training":
            self._shown.show(
                step,
                (
                    *_words(_learned(record)),
                    f"{record['tokens_per_second']:,.0f} target tokens/s",
                    f"learning rate {record['learning_rate']:.3g}",
                ),
            )
        elif record["kind"] == "validation":
            for name, figures in _by_set(record).items():
                tell(f"step {step:,}: {name} {', '.join(_words(figures))}")
        else:
            log.warning("step %d: %s", step, record["message"])

    def rewind(self, step: int) -> None:
        """Move the bar back."""
        self._shown.show(step)

    def close(self) -> None:
        """Close the bar."""
        self._shown.close()


@contextmanager
def counted_bytes(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show the bytes reported to the yielded function, one part after another."""
    done = 0
    with counting(what, "MB", total and round(total / 1e6)) as show:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            show(done // 1_000_000)

        yield advance


def _by_set(record: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The figures of each dev set; with several, first their means as ``dev``."""
    sets: dict[str, dict[str, float]] = {}
    for key, value in record.items():
        if isinstance(value, float):
            figure, _, name = key.partition("/")
            sets.setdefault(name or "dev", {})[figure] = value
    return sets


def _learned(record: dict[str, Any]) -> dict[str, float]:
    """Loss and perplexity of the first task, if it has weight and reports them."""
    loss = record.get("nll", record.get("loss"))
    figures = {"loss": loss, "perplexity": record.get("perplexity")}
    return {name: value for name, value in figures.items() if value is not None}


def _words(figures: dict[str, float]) -> list[str]:
    """Figures with their names, suitably rounded."""
    from dragoman.evaluation.metric_names import metric_names
    from dragoman.evaluation.metrics import metric_named

    formats = {name: name + " {:.4g}" for name in figures} | _FIGURES
    for name in figures.keys() & {*metric_names()}:
        formats[name] = metric_named(name).progress or formats[name]
    # Good perplexities differ only after the decimal point.
    digits = 2 if figures.get("perplexity", 0.0) < 10 else 1
    formats["perplexity"] = f"perplexity {{:,.{digits}f}}"
    return [formats[name].format(value) for name, value in figures.items()]


def duration(seconds: float) -> str:
    """A readable duration, such as ``26 minutes``."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * length:
            count = seconds / length
            return f"{count:.1f} {unit}" if count < 10 else f"{count:.0f} {unit}"
    rounded = round(seconds)
    return "1 second" if rounded == 1 else f"{rounded} seconds"
