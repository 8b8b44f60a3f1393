"""The interface of experiment trackers, which show how a run learns beside other runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

Cell: TypeAlias = str | int | float


@dataclass(frozen=True)
class TrackedRun:
    """A run, as a tracker is to show it."""

    directory: Path
    """The directory of the run."""
    name: str
    """The name to show: that of the directory."""
    group: str | None
    """Name of the runs that one command trains together, such as ``comparison``."""
    config: Mapping[str, Any]
    """The configuration, as in ``config.yaml``."""
    step: int
    """The step at which training begins or resumes."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """What the tracker kept of the same run before (:meth:`Tracker.keep`); empty at first."""


class Tracker(ABC):
    """Shows one run; made when training begins and when it resumes, in the leading process only.

    All calls come from one thread, which training does not wait for.  An exception ends the tracker
    with a warning, and training continues.

    Args:
        run: the run to show.
    """

    name: ClassVar[str]
    """Its name on the command line, such as ``wandb``."""
    forgets: ClassVar[bool] = False
    """Whether figures of later steps are discarded when training returns to an earlier step.  If
    not, each step is shown only once: a run that resumes, or returns to an earlier checkpoint, is
    shown again from the step after the last one shown."""

    def __init__(self, run: TrackedRun) -> None:
        self.run = run

    def keep(self) -> Mapping[str, str]:
        """Short texts to keep in the directory of the run, such as the run's id in the tracker."""
        return {}

    @abstractmethod
    def figures(self, values: Mapping[str, float], step: int) -> None:
        """Show figures of a step by name, such as ``training/loss`` and ``test/news/bleu``."""

    def table(  # noqa: B027 - optional
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], step: int
    ) -> None:
        """Show a table, such as ``translations/dev``; by default, nothing."""

    def card(self, path: Path) -> None:  # noqa: B027 - optional
        """Store the model card, a Markdown file; by default, nothing."""

    def rewind(self, step: int) -> None:  # noqa: B027 - optional
        """Discard the steps after ``step``; called only if the tracker :attr:`forgets`."""

    def close(self) -> None:  # noqa: B027 - optional
        """Training has ended or was interrupted; everything shown is to be stored now."""
