"""What the configuration of every objective has in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dragoman.core.config import Config
from dragoman.models.interface import FamilyConfig
from dragoman.training.tasks import Objective


class ObjectiveConfig(Config):
    """An objective of another installed package, with keys of its own."""

    kind: str
    """The name of its entry point in the group `dragoman.objectives`."""

    reads_alignments: ClassVar[bool] = False
    """Whether it reads the word alignments of parts that have some."""

    def unfit(self, model: FamilyConfig) -> Iterator[str]:
        """Why ``model`` cannot learn so; a line each.  To be overridden."""
        yield from ()

    def build(self, smoothing: float, model: FamilyConfig) -> Objective:
        """What is minimised on sentence pairs.

        Args:
            smoothing: ``training.label_smoothing``.
            model: of what learns.
        """
        raise NotImplementedError(f"{type(self).__name__} builds no objective")
