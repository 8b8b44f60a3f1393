"""How many tokens fit on a device at once, which may turn out to be fewer than was asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class DeviceTokens:
    """Maximum padded tokens per batch and side, shared by all streams of a training process.

    Whoever lowers it opens the streams again, as batches may have been prepared ahead.
    """

    limit: int | None = None
    """The maximum; None for none."""

    def lower(self, limit: int) -> None:
        """Let it be ``limit`` at most from now on."""
        self.limit = limit if self.limit is None else min(self.limit, limit)
