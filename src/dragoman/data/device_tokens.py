"""The number of tokens that fit on a device at once, which may prove smaller than requested."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class DeviceTokens:
    """Maximum padded tokens per batch and side, shared by all streams of a training process.

    After lowering it, the caller must reopen the streams, because batches may have been prepared
    ahead.
    """

    limit: int | None = None
    """The maximum; None: unlimited."""

    def lower(self, limit: int) -> None:
        """Lower the maximum to ``limit`` if it is higher."""
        self.limit = limit if self.limit is None else min(self.limit, limit)
