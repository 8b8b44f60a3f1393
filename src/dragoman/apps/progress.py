"""What commands tell on standard error while they work: the one home of progress.

On a terminal it is a bar; anywhere else, such as in a log file, a plain line now and then; and
nothing after ``--quiet``, which leaves warnings and errors.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, Protocol

import click

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 30.0
"""Between two plain lines of the same work."""
_SOON_SECONDS = 1.0  # what takes less is not worth a bar

_QUIET = "dragoman.quiet"
_FIGURES = {
    "loss": "loss {:.3f}",
    "bleu": "BLEU {:.2f}",
    "chrf": "chrF {:.2f}",
    "ter": "TER {:.2f}",
}


def _be_quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.meta[_QUIET] = True  # which a group shares with its commands


quiet_option = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    expose_value=False,
    callback=_be_quiet,
    help="Tell nothing but results, warnings and errors.",
)
"""Of every command, and of ``dragoman`` itself."""


def is_quiet() -> bool:
    """Whether the command at hand was given ``--quiet``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def write_line(line: str) -> None:
    """Write to standard error, above a bar if there is one."""
    if (bars := sys.modules.get("tqdm")) is not None:
        bars.tqdm.write(line, file=sys.stderr)
    else:
        click.echo(line, err=True)


def tell(line: str) -> None:
    """Say what is going on, unless it is to be quiet."""
    if not is_quiet():
        write_line(f"dragoman: {line}")


class Display(Protocol):
    """Shows how far some work is."""

    def show(self, done: int, details: Sequence[str] = ()) -> None:
        """So many units are done; less than before where the work went back."""

    def close(self) -> None:
        """The work has ended or been interrupted."""


class _Nothing:
    """Of what is to be quiet."""

    def show(self, done: int, details: Sequence[str] = ()) -> None:
        """Nothing to see."""

    def close(self) -> None:
        """Nothing to end."""


class _Bar:
    """On a terminal; the keyword arguments are tqdm's."""

    def __init__(self, **options: Any) -> None:
        from tqdm import tqdm  # --help does without

        self._bar = tqdm(file=sys.stderr, dynamic_ncols=True, **options)

    def show(self, done: int, details: Sequence[str] = ()) -> None:
        """Move the bar."""
        self._bar.set_postfix_str(", ".join(details), refresh=False)
        self._bar.update(done - self._bar.n)
        if details:
            self._bar.refresh()

    def close(self) -> None:
        """Leave the bar as it is, or remove it if it was meant to go."""
        self._bar.close()


class Lines:
    """Plain lines, one in half a minute, and a last one for what took longer.

    Args:
        sentence: from how much is done, such as ``400 of 2,000``, to the beginning of a line.
        total: all that is to be done, if that is known.
        start: what was done before.
        at_once: begin with a line as soon as there is something to show.
    """

    def __init__(
        self,
        sentence: Callable[[str], str],
        total: int | None,
        start: int = 0,
        *,
        at_once: bool = False,
    ) -> None:
        self._sentence, self._total, self._start = sentence, total, start
        self._begun = monotonic()
        self._told = self._begun - INTERVAL_SECONDS if at_once else self._begun
        self._untold: tuple[int, Sequence[str]] | None = None

    def show(self, done: int, details: Sequence[str] = ()) -> None:
        """Print a line if it is time for one."""
        self._untold = (done, details)
        if monotonic() - self._told >= INTERVAL_SECONDS:
            self._print(done, details)

    def _print(self, done: int, details: Sequence[str]) -> None:
        self._told, self._untold = monotonic(), None
        count = f"{done:,}" if self._total is None else f"{done:,} of {self._total:,}"
        tell(", ".join([self._sentence(count), *details, *self._rest(done)]))

    def _rest(self, done: int) -> Iterator[str]:
        """How long it will take, if that can be said."""
        passed, taken = done - self._start, monotonic() - self._begun
        if self._total is not None and passed > 0 and self._total > done and taken > 0:
            yield f"{duration((self._total - done) * taken / passed)} left"

    def close(self) -> None:
        """Print where long work has ended."""
        if self._untold is not None and monotonic() - self._begun >= INTERVAL_SECONDS:
            self._print(*self._untold)


def _display(bar: Callable[[], Display], lines: Callable[[], Display]) -> Display:
    if is_quiet():
        return _Nothing()
    return bar() if sys.stderr.isatty() else lines()


@contextmanager
def counting(what: str, unit: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show how much of some work is done while the block lasts.

    Args:
        what: is done, such as ``translating``.
        unit: of what is counted, in the plural.
        total: how many there will be, if that is known.

    Yields:
        What is to be called with how many are done, counted from the beginning.
    """
    shown = _display(
        lambda: _Bar(desc=what, unit=f" {unit}", total=total, delay=_SOON_SECONDS, leave=False),
        lambda: Lines(lambda count: f"{what}: {count} {unit}", total),
    )
    try:
        yield shown.show
    finally:
        shown.close()


class TrainingProgress:
    """An observer of training: step, loss, perplexity, speed, learning rate and time left.

    Loss and perplexity are of the same thing, the target tokens without label smoothing, as
    those of dev and test sets are.

    Args:
        step: that training begins or goes on at.
        max_steps: the last one, if that is known.
    """

    def __init__(self, step: int, max_steps: int | None) -> None:
        self._shown = _display(
            lambda: _Bar(total=max_steps, initial=step, unit="step"),
            lambda: Lines(lambda count: f"step {count}", max_steps, step, at_once=True),
        )

    def record(self, record: dict[str, Any]) -> None:
        """Show one, or print a line of what is not to be missed."""
        step = record["step"]
        if record["kind"] == "training":
            self._shown.show(
                step,
                (
                    *_words({"loss": record["nll"], "perplexity": record["perplexity"]}),
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
        """Go back."""
        self._shown.show(step)

    def close(self) -> None:
        """End the bar."""
        self._shown.close()


def _by_set(record: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The figures of each dev set; of several, first their means as ``dev``."""
    sets: dict[str, dict[str, float]] = {}
    for key, value in record.items():
        if isinstance(value, float):
            figure, _, name = key.partition("/")
            sets.setdefault(name or "dev", {})[figure] = value
    return sets


def _words(figures: dict[str, float]) -> list[str]:
    """Figures with their names, rounded to what matters."""
    formats = {name: name + " {:.4g}" for name in figures} | _FIGURES
    # The best of them differ in what comes after the point.
    digits = 2 if figures.get("perplexity", 0.0) < 10 else 1
    formats["perplexity"] = f"perplexity {{:,.{digits}f}}"
    return [formats[name].format(value) for name, value in figures.items()]


def duration(seconds: float) -> str:
    """A time as people would say it, such as ``26 minutes``."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * length:
            count = seconds / length
            return f"{count:.1f} {unit}" if count < 10 else f"{count:.0f} {unit}"
    rounded = round(seconds)
    return "1 second" if rounded == 1 else f"{rounded} seconds"
