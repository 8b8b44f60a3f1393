"""The learning objective: a mix of tasks, each a stream of batches with an objective.

A step of training takes one step of every task and adds up their gradients::

    gradient = sum over tasks of weight * gradient of the summed loss  /  sum of weight * tokens

so a task's weight is that of each of its target tokens, and a single task of weight 1 is plain
training.  The trainer needs no other knowledge of the tasks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.data.batches import Batch
from dragoman.data.prefetch import Prefetch
from dragoman.models.interface import TranslationModel
from dragoman.training.checkpoint import Place
from dragoman.training.schedule import between_points

LOSS, TOKENS = "loss", "tokens"
"""Totals that every objective returns: the summed loss and its number of tokens."""

EMPTY_EPOCHS = 1000
"""Maximum number of consecutive epochs without a batch; more are an error."""


class Objective(Protocol):
    """The loss on a batch.  Stateless: it depends only on the model and the batch."""

    @property
    def totals(self) -> tuple[str, ...]:
        """Names of the sums that :meth:`backward` returns, including ``loss`` and ``tokens``."""

    def backward(self, model: TranslationModel, batch: Batch, scale: float) -> Mapping[str, Tensor]:
        """Add the gradient of ``scale`` times the batch's summed loss to the model's gradients.

        Args:
            model: in training mode.
            batch: on the model's device.
            scale: weight of the loss among those of other tasks; not applied to the totals.

        Returns:
            Scalars without gradient, summed over the batch, by the names of :attr:`totals`.
        """

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """The figures to report for totals summed over batches: ``loss`` per token, and others."""


class Stream(Protocol):
    """An endless stream of batches from any place on: a pure function of the place."""

    def windows(self, epoch: int) -> int:
        """The number of windows in ``epoch`` (from 0)."""

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        """This process' batches of each step of one window, from step ``start`` on.

        They are prepared ahead in another thread, so this must not touch the model in training.
        All processes have the same number of steps; some steps may lack a batch in a process.
        """

    @abstractmethod
    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        """The batch as the objective reads it, completed between two steps, just before use.

        Here a stream may use the model in training, for example to translate a monolingual batch
        (on-line back-translation).

        Args:
            batch: a batch of :meth:`window`, on the model's device.
            model: in training mode; must be left unchanged.
        """


class CompletedStream(Stream):
    """A stream that completes the batches of another stream just before they are used."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    @override
    def windows(self, epoch: int) -> int:
        return self._stream.windows(epoch)

    @override
    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        return self._stream.window(epoch, window, start)


@dataclass(frozen=True)
class SingleStep:
    """A stream of one step of given batches: of a dev set, or to measure speed."""

    batches: list[Batch]

    def windows(self, epoch: int) -> int:
        """One window."""
        return 1

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        """The step, if it is not skipped."""
        yield from [self.batches][start:]

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        """The batch unchanged."""
        return batch


@dataclass(frozen=True)
class Task:
    """One of the tasks that a model learns at once."""

    name: str
    """The key of its place in checkpoints and, except for the first task, of its figures."""
    stream: Stream
    objective: Objective
    weight: float | Mapping[int, float] = 1.0
    """Weight of a target token, constant or by step, interpolated linearly between the points.
    While it is 0, the task's batches are skipped."""

    def weight_at(self, step: int) -> float:
        """The weight at a step, counted from 1."""
        if isinstance(self.weight, Mapping):
            return between_points(self.weight, step)
        return self.weight


class Reader:
    """Takes one step after another from a stream, preparing the next steps ahead.

    :meth:`take` advances ``place``.
    """

    def __init__(self, stream: Stream, place: Place) -> None:
        self._stream, self.place = stream, place
        self._steps: Prefetch[tuple[list[Batch] | None, Place]] | None = None

    def take(self) -> list[Batch] | None:
        """The batches of the next step; None at the end of each epoch."""
        if self._steps is None:
            self._steps = Prefetch(_steps(self._stream, self.place))
        batches, self.place = next(self._steps)
        return batches

    def close(self) -> None:
        """Stop preparing steps; the place is kept, and :meth:`take` continues from it."""
        if self._steps is not None:
            self._steps.close()
        self._steps = None


class TaskReaders:
    """A :class:`Reader` of each task's stream.

    Args:
        tasks: the tasks; epochs are those of the first.
        places: positions to continue from, by task name; missing streams start anew.
    """

    def __init__(self, tasks: Sequence[Task], places: Mapping[str, Place]) -> None:
        self._tasks = tasks
        self._readers = self._at(places)

    def _at(self, places: Mapping[str, Place]) -> dict[str, Reader]:
        return {
            task.name: Reader(task.stream, places.get(task.name, Place())) for task in self._tasks
        }

    @property
    def places(self) -> dict[str, Place]:
        """How far each stream has been read, by task name."""
        return {name: reader.place for name, reader in self._readers.items()}

    def go_to(self, places: Mapping[str, Place]) -> None:
        """Continue from these places; steps prepared so far are dropped."""
        self.close()
        self._readers = self._at(places)

    def take(self) -> list[list[Batch]] | None:
        """The batches of each task's next step; None at the end of an epoch of the first task."""
        taken = []
        for number, reader in enumerate(self._readers.values()):
            batches = reader.take()
            if batches is None and number == 0:
                return None
            if batches is None:
                batches = reader.take()  # another task continues with its next epoch
                assert batches is not None, "an epoch has at least one step"
            taken.append(batches)
        return taken

    def close(self) -> None:
        """Stop preparing steps."""
        for reader in self._readers.values():
            reader.close()


def _steps(stream: Stream, place: Place) -> Iterator[tuple[list[Batch] | None, Place]]:
    """Every step from ``place`` on with the place after it, and None at the end of an epoch.

    Epochs that have no batch because of small weights are skipped.
    """
    first, start, empty = place.window, place.step, 0
    for epoch in count(place.epoch):
        taken = first + start  # of an epoch that is resumed in the middle
        for window in range(first, stream.windows(epoch)):
            for taken, batches in enumerate(stream.window(epoch, window, start), start + 1):
                yield batches, Place(epoch, window, taken)
            start = 0
        empty = 0 if taken else empty + 1
        if empty > EMPTY_EPOCHS:
            raise DataError(
                f"there is nothing to learn from: {empty:,} epochs in a row have no batch; raise "
                "the weights in data.train, or add text"
            )
        if taken:
            yield None, Place(epoch + 1)
        first = start = 0
