"""The base class of objective configurations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from dragoman.core.config import Config
from dragoman.models.interface import FamilyConfig
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.on_line import WantedCandidates
from dragoman.training.tasks import Objective, Stream


class ObjectiveConfig(Config):
    """An objective from another installed package, with its own keys."""

    kind: str
    """Name of its entry point in the group `dragoman.objectives`."""

    reads_alignments: ClassVar[bool] = False
    """Whether it reads word alignments, where parts have them."""

    translates: ClassVar[bool] = True
    """Whether a model that learns by it alone translates; if not, validation measures the
    objective's own likelihood."""

    improves: ClassVar[bool] = False
    """Whether it only improves a model that translates already: training must start from one."""

    def symbols(self) -> Iterator[str]:
        """Tags that the objective may write into sources; the vocabulary needs them."""
        yield from ()

    def reading(self, stream: Stream, vocabularies: Vocabularies, seed: int) -> Stream:
        """The batches of ``stream`` as the objective reads them; unchanged unless overridden.

        Raises:
            ConfigError: it cannot read text of these vocabularies.
        """
        return stream

    def unfit(self, model: FamilyConfig) -> Iterator[str]:
        """Reasons why ``model`` cannot learn with this objective, one line each.  Override it."""
        yield from ()

    def wanted_candidates(self) -> WantedCandidates | None:
        """Outputs for the model to make just before each batch; None unless overridden."""
        return None

    @abstractmethod
    def build(self, smoothing: float, model: FamilyConfig) -> Objective:
        """Create the objective; ``smoothing`` is ``training.label_smoothing``."""
