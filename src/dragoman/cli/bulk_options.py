"""Workers of the bulk commands, and the cost of their work."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from dragoman.cli import declare
from dragoman.cli.options import json_option
from dragoman.core.errors import ConfigError
from dragoman.workflows.progress import counting

if TYPE_CHECKING:
    from dragoman.core.processes import Runner

Item = TypeVar("Item")
Result = TypeVar("Result")

bulk_options = declare.Options(
    declare.options("""
        --workers N: 0 <= int <= 1024
            Processes on this machine; 0 works in the current process, without Ray.  [default: one
            per core]
        --cluster ADDRESS
            Work on a running Ray cluster, such as HOST:6379, instead.  All its machines need the
            same Dragoman, and the same files under the same paths.
        --price-per-hour PRICE: 0 <= number
            Price of one machine per hour, to show what the work costs.
    """),
    json_option,
)
"""The options that all bulk commands have."""


@dataclass
class WorkMeter:
    """Adds up machine hours while stages show their progress."""

    runner: Runner
    price_per_hour: float | None = None
    """Of one machine."""
    machine_seconds: float = 0.0
    _updated: float | None = None

    def update(self) -> None:
        """Add the time since the last call."""
        now = time.monotonic()
        if self._updated is not None:
            self.machine_seconds += (now - self._updated) * self.runner.machines
        self._updated = now

    @contextmanager
    def stage(
        self, what: str, unit: str, total: int | None = None, start: int = 0
    ) -> Iterator[Callable[[int], object]]:
        """Show the progress and cost of a stage, within the block."""
        self.update()
        begun = self.machine_seconds
        with counting(what, unit, total, start) as show:

            def count(done: int) -> None:
                self.update()
                show(done, self._details(done - start, (total or 0) - start, begun))

            yield count
        self.update()

    def _details(self, done: int, total: int, begun: float) -> list[str]:
        spent = self.machine_seconds
        stage = spent - begun
        expected = begun + (stage * total / done if done > 0 else stage)
        details = [f"{spent / 3600:,.2f} machine hours"]
        if self.price_per_hour is not None:
            costs = [seconds / 3600 * self.price_per_hour for seconds in (spent, expected)]
            details.append(f"cost {costs[0]:,.2f}, {costs[1]:,.2f} after this stage")
        return details

    def summary(self) -> str:
        """The cost in a few words."""
        self.update()
        hours = self.machine_seconds / 3600
        said = f"{hours:,.3f} machine hours"
        if self.price_per_hour is not None:
            said += f", cost {hours * self.price_per_hour:,.2f}"
        return said

    def values(self) -> dict[str, float | None]:
        """The cost for ``--json``."""
        self.update()
        hours = self.machine_seconds / 3600
        price = self.price_per_hour
        cost = None if price is None else round(hours * price, 4)
        return {"machine_hours": round(hours, 4), "cost": cost}


@dataclass(frozen=True)
class BulkOptions:
    """Options for the machines that work, and their price."""

    workers: int | None
    cluster: str | None
    price_per_hour: float | None
    as_json: bool

    @classmethod
    def taken(cls, options: dict[str, Any]) -> BulkOptions:
        """Take the options of :data:`bulk_options` out of those of a command."""
        names = ("workers", "cluster", "price_per_hour", "as_json")
        return cls(**{name: options.pop(name) for name in names})

    @contextmanager
    def meter(self, gpus: float = 0) -> Iterator[WorkMeter]:
        """The meter of the work's cost, with its runner, until the block ends.

        Ray starts, or is connected to, when there is work: after the input has been examined.
        """
        from dragoman.core.processes import InProcessRunner

        if self.cluster is not None and self.workers is not None:
            raise ConfigError("--workers are of this machine, and --cluster has its own; name one")
        if self.workers == 0:
            yield WorkMeter(InProcessRunner(), self.price_per_hour)
            return
        if self.cluster is None:
            _demand_token()
        from dragoman.workflows.cluster import connected

        with ExitStack() as stack:
            ray = connected(self.cluster, self.workers, gpus)
            runner = _RunnerWhenNeeded(lambda: stack.enter_context(ray))
            yield WorkMeter(runner, self.price_per_hour)


def _demand_token() -> None:
    """Make this machine's Ray refuse clients without a token: it listens on all addresses.

    Ray reads this when it is imported; releases before 2.52 do not support it.
    """
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


class _RunnerWhenNeeded:
    """A runner that is opened when there is work."""

    def __init__(self, begin: Callable[[], Runner]) -> None:
        self._begin = begin
        self._runner: Runner | None = None

    @property
    def machines(self) -> int:
        """Number of machines working at present: only this one before there is work for others."""
        return 1 if self._runner is None else self._runner.machines

    def carry_out(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        if self._runner is None:
            self._runner = self._begin()
        return self._runner.carry_out(work, items)


def shard_lines_option(default: int) -> declare.Options:
    """The option that limits the work lost if a worker is killed."""
    return declare.options(
        """
        --shard-lines N: 1 <= int <= 10000000
            Lines that a worker processes at once.
        """,
        shard_lines={"default": default, "show_default": True},
    )
