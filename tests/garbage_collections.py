"""Counts the runs of the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def collections() -> Iterator[list[int]]:
    """The generation of each run of the collector within the block."""
    counted: list[int] = []

    def count(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            counted.append(info["generation"])

    gc.callbacks.append(count)
    try:
        yield counted
    finally:
        gc.callbacks.remove(count)
