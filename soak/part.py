"""What a part of the soak is given, and what it tells."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Allowance:
    """What a part may use."""

    seconds: float
    """How long it may take; it finishes what it has begun, which takes a minute at most."""
    seed: int
    """All that is random is a function of it, and of the clock only how much is tried."""
    folder: Path
    """A directory for the part alone, empty at first; what it leaves is there for whoever reads a
    failure."""
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds until the part must end."""
        return self.seconds - (time.monotonic() - self.started)


@dataclass(frozen=True)
class Tried:
    """One row of the report: something that was tried, and how often."""

    what: str
    times: int
    figures: Mapping[str, float | str] = field(default_factory=dict)
    """What was measured, by its name with its unit, such as ``p99 ms``."""
    failures: tuple[str, ...] = ()
    """Each says how to see it again: the seed or the command, and what came instead."""
    skipped: str = ""
    """Why it was not tried, such as a program that is missing; then ``times`` is 0."""


class Part(Protocol):
    """A part of the soak: a module's object, listed in ``soak.parts``."""

    about: str
    """One line for the report and for ``--list``."""
    share: float
    """Of the time that the whole soak is given; the shares of all parts are scaled to 1."""

    def run(self, allowance: Allowance) -> list[Tried]:
        """Try until the time is over, and tell; an exception is a failure of the part itself."""
