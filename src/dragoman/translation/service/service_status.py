"""The status of a translation service, for monitoring."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.translation.service.interface import Pairing


@dataclass(frozen=True)
class SystemStatus:
    """The status of one system."""

    models: tuple[str, ...]
    """Paths of its models."""
    pairs: tuple[Pairing, ...]
    """Its directions, sorted."""
    waiting_lines: int
    """Lines in its queue."""
    lines: int
    """Lines translated since it was loaded."""
    batches: int
    """Calls of the translator for these lines."""
    seconds: float
    """Total time of these calls."""
    reloads: int
    """How often the system was loaded again."""
    problem: str | None
    """Why its current files are not served (missing, or an error); None if they are."""


@dataclass(frozen=True)
class ServiceStatus:
    """The status of all systems of a service."""

    systems: tuple[SystemStatus, ...]
    directions: int
    """Number of directions, including those through a pivot."""

    @property
    def waiting_lines(self) -> int:
        """Lines in all queues."""
        return sum(one.waiting_lines for one in self.systems)
