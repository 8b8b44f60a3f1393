"""What a translation service is doing, for whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.translation.service.interface import Pairing


@dataclass(frozen=True)
class SystemStatus:
    """One system."""

    models: tuple[str, ...]
    """Paths of its models."""
    pairs: tuple[Pairing, ...]
    """The directions that it translates in, sorted."""
    waiting_lines: int
    """Lines in its queue."""
    lines: int
    """Lines translated since it was loaded."""
    batches: int
    """Calls of the translator that this took."""
    seconds: float
    """Time that these took together."""
    reloads: int
    """How often it was loaded again."""
    problem: str | None
    """Why its files as they are now could not be loaded, or that they are missing; None if they are
    what is served."""


@dataclass(frozen=True)
class ServiceStatus:
    """All systems of a service."""

    systems: tuple[SystemStatus, ...]
    directions: int
    """How many there are, with those through a pivot."""

    @property
    def waiting_lines(self) -> int:
        """Lines in all queues."""
        return sum(one.waiting_lines for one in self.systems)
