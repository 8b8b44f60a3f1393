"""What a service has done so far, for whoever watches it."""

from __future__ import annotations

from typing import NamedTuple


class ServiceFigures(NamedTuple):
    """Figures of a service since its models were loaded."""

    systems: int
    """Systems in memory."""
    directions: int
    """Directions that they translate in, with those through a pivot."""
    waiting_lines: int
    """Lines in the queues."""
    lines: int
    """Lines translated."""
    batches: int
    """Batches that they were in."""
    seconds: float
    """Time in which systems worked."""
    reloads: int
    """How often changed models were loaded."""
