"""The base class of objective configurations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from dragoman.core.config import Config
from dragoman.models.interface import FamilyConfig
from dragoman.training.tasks import Objective


class ObjectiveConfig(Config):
    """An objective from another installed package, with its own keys."""

    kind: str
    """Name of its entry point in the group `dragoman.objectives`."""

    reads_alignments: ClassVar[bool] = False
    """Whether it reads word alignments, where parts have them."""

    def unfit(self, model: FamilyConfig) -> Iterator[str]:
        """Why ``model`` cannot learn with this objective, one line each.  Override it."""
        yield from ()

    @abstractmethod
    def build(self, smoothing: float, model: FamilyConfig) -> Objective:
        """Create the objective.

        Args:
            smoothing: ``training.label_smoothing``.
            model: configuration of the model that learns.
        """
