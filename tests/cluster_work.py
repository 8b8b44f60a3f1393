"""Work for workers of a cluster, who import it from here."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.errors import DataError


def squared(number: int) -> int:
    return number * number


def refused(number: int) -> int:
    if number == 3:
        raise DataError("file:3: not UTF-8")
    return number


def mistaken(number: int) -> float:
    return 1 / (number - 2)


@dataclass(frozen=True)
class KilledOnce:
    """Kills its worker the first time that it gets an item; always without a folder."""

    folder: Path | None

    def __call__(self, number: int) -> int:
        if self.folder is None:
            os.kill(os.getpid(), signal.SIGKILL)
            return 0
        marker = self.folder / str(number)
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number


@dataclass(frozen=True)
class Slow:
    """Writes who did an item, and takes a while."""

    folder: Path
    seconds: float = 0.3

    def __call__(self, number: int) -> str:
        import ray

        node: str = ray.get_runtime_context().get_node_id()
        time.sleep(self.seconds)
        (self.folder / f"{number}.done").write_text(node, encoding="utf-8")
        return node
