"""The cost of work on several machines, so far and estimated to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dragoman.core.runners import Runner
from dragoman.workflows.progress import counting


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
