"""Services that a technique needs from its caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from dragoman.core.errors import InterruptedRunError
from dragoman.experiment import Experiment


class ShowCount(Protocol):
    """Shows how many units are done, and further figures."""

    def __call__(self, done: int, details: Sequence[str] = ()) -> None:
        """Show them."""


class Host(Protocol):
    """Shows the work of a technique, and trains its runs with output for the user."""

    def tell(self, line: str) -> None:
        """Show a line about the current work."""

    def counting(
        self, what: str, unit: str, total: int | None = None, start: int = 0
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Show how much of some work is done within the block.

        Args:
            what: the work, such as ``translating``.
            unit: of the count, in the plural.
            total: final count, if known.
            start: count at the beginning.
        """

    def train(self, experiment: Experiment) -> None:
        """Prepare a run if necessary, train it from its newest checkpoint, and score it.

        Raises:
            InterruptedRunError: a signal came; the run can be resumed.
            DragomanError: the errors of preparation and training.
        """


def train_to_repeat(experiment: Experiment, host: Host) -> None:
    """Train a run of a technique, whose own command resumes it."""
    try:
        host.train(experiment)
    except InterruptedRunError as error:
        stopped = InterruptedRunError(
            f"{experiment.run}: stopped; everything is saved; repeat the command to continue"
        )
        stopped.exit_code = error.exit_code
        raise stopped from error
