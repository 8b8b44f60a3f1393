"""The gradient of one step: of all tasks, over this process' share of the batches.

When memory runs out, the batches of a step are halved until they fit.  The sentences of the step
stay the same, so its gradient differs from that of the larger batches only by rounding.  It equals,
bit for bit, the gradient with ``training.device_tokens`` at that value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, NotEnoughMemoryError, is_out_of_memory, memory_words
from dragoman.core.wording import named
from dragoman.data.batches import Batch, make_batch
from dragoman.data.grouping import DeviceTokens
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.dropout import dropout_from, dropout_state, seed_dropout
from dragoman.training.distributed import lost_on_the_way
from dragoman.training.sharding.interface import Sharding
from dragoman.training.tasks import Objective, Task

Taken = list[list[Batch]]
"""The batches of each task in one step."""
Result = TypeVar("Result")


class StepGradients:
    """Collects the gradients of steps in the sharding of the model."""

    def __init__(
        self,
        model: TranslationModel,
        tasks: Sequence[Task],
        sharding: Sharding,
        device: torch.device,
    ) -> None:
        self._model, self._tasks = model, tasks
        self._sharding, self._device = sharding, device

    def collect(self, taken: Taken, weights: Sequence[float], at: Sequence[int]) -> list[Tensor]:
        """Collect the gradients of all tasks in this process, and return the totals of each.

        Args:
            taken: the batches of each task in this step.
            weights: of the tasks in this step; tasks of weight 0 are not read.
            at: numbers that determine all randomness in the step.

        Returns:
            Sums over the target positions of this process, named by ``objective.totals``,
            ``(totals,)`` for each task.
        """
        with lost_on_the_way():
            return self._collect(taken, weights, at)

    def _collect(self, taken: Taken, weights: Sequence[float], at: Sequence[int]) -> list[Tensor]:
        seed_dropout(*at)
        torch.manual_seed(int(np.random.SeedSequence(at).generate_state(1)[0]))
        self._model.train()
        taken = [batches if weight else [] for batches, weight in zip(taken, weights, strict=True)]
        passes = self._sharding.passes([len(batches) for batches in taken])
        sums = []
        for number, (task, weight) in enumerate(zip(self._tasks, weights, strict=True)):
            batches, last = taken[number], not any(taken[number + 1 :])
            sums.append(self._backward(task, batches, weight, last))
            self._wait_idly(task, batches, passes[number] - len(batches))
        if not any(passes):  # fewer sentences than processes: none for this process
            self._sharding.collect()
        return sums

    def _backward(self, task: Task, batches: list[Batch], weight: float, last: bool) -> Tensor:
        """Collect the gradients of this process' share of a task's step, and return its totals.

        ``last`` says whether no other task has batches after these.
        """
        names = task.objective.totals
        sums = torch.zeros(len(names), dtype=torch.float64, device=self._device)
        for left, batch in zip(reversed(range(len(batches))), batches, strict=True):
            ready = task.stream.completed(batch.to(self._device), self._model)
            if last and not left:
                self._sharding.expect_last()
            totals = _checked(task.objective.backward(self._model, ready, weight), task.objective)
            sums += torch.stack([totals[name] for name in names]).double()
            self._sharding.collect()
        return sums

    def _wait_idly(self, task: Task, batches: list[Batch], passes: int) -> None:
        """Take part in the ``passes`` that other processes make over further batches."""
        # With fewer sentences than processes, this process may have none: an empty pair will do.
        batch = batches[-1] if batches else make_batch([[]], [[]])
        devices = [self._device] if self._device.type == "cuda" else []

        def again() -> None:
            # Later code draws the same random numbers as without this pass.
            with torch.random.fork_rng(devices), dropout_from(dropout_state()):
                task.objective.backward(self._model, batch.to(self._device), 0.0)

        for _ in range(passes):
            self._sharding.idle(again)


def _checked(returned: object, objective: Objective) -> Mapping[str, Tensor]:
    """The totals that an objective returned, perhaps one of another package."""
    totals = returned if isinstance(returned, Mapping) else {}
    if lacking := [name for name in objective.totals if not isinstance(totals.get(name), Tensor)]:
        raise ConfigError(
            f"objective {type(objective).__name__}: backward returned no tensor {named(lacking)}, "
            "which totals names; correct its package"
        )
    return totals


def tokens_of(batch: Batch) -> int:
    """Padded tokens of the longer side."""
    return batch.sentences * max(batch.source.shape[1], batch.target_output.shape[1])


class FittingPasses:
    """Collects the gradients of steps, in smaller batches once memory has run out.

    Args:
        tokens: maximum tokens of a batch, halved on demand; None if batches cannot be divided.
        sharding: of the model that learns.
        warn: called with a message when batches become smaller.
    """

    def __init__(
        self, tokens: DeviceTokens | None, sharding: Sharding, warn: Callable[[str], object]
    ) -> None:
        self._tokens, self._sharding, self._warn = tokens, sharding, warn
        self.asked = None if tokens is None else tokens.limit
        """What the configuration asks for."""
        self.lowered: int | None = None
        """What batches were lowered to, if they were."""

    def resume(self, lowered: int | None, asked: int | None) -> None:
        """Restore the batch size of an earlier process, unless another is configured now.

        It was lowered there to ``lowered``, if at all; ``asked`` was configured then.
        """
        if lowered is not None and asked == self.asked:
            self._lower_to(lowered)

    def _lower_to(self, limit: int) -> None:
        if self._tokens is not None:
            self._tokens.lower(limit)
            self.lowered = self._tokens.limit

    def agree(self, others: Sequence[int]) -> bool:
        """Lower the batch size to that of the other processes, so that a resumed run divides alike.

        Processes that have not lowered theirs give 0.  Returns whether it became smaller here.
        """
        least = min((limit for limit in others if limit), default=None)
        if least is None or least == self.lowered or self._tokens is None:
            return False
        before = self._tokens.limit
        self._lower_to(least)
        if self._tokens.limit == before:
            return False
        self._warn(
            f"out of memory in another process; going on with batches of {self.lowered:,} tokens "
            f"at most; training.device_tokens: {self.lowered} does so from the start"
        )
        return True

    def fitting(
        self,
        gradients: Callable[[Taken], Result],
        taken: Taken,
        again: Callable[[], Taken],
    ) -> Result:
        """The result of ``gradients`` for batches that fit.

        Args:
            gradients: collects the gradients of all batches of a step.
            taken: the batches of each task in the step.
            again: takes the same step again, in batches of the current size.
        """
        while True:
            try:
                return gradients(taken)
            except Exception as error:
                if not is_out_of_memory(error) or not any(taken):  # nothing to divide
                    raise
                said = memory_words(error)
                if not self._sharding.start_over():
                    raise self._sent_already(taken, said) from error
            # Outside the handler, as the error's traceback held the tensors of the failed pass.
            if torch.cuda.is_available():
                torch.cuda.empty_cache()  # what is free may be too fragmented to use
            self._warn(self._lower(taken, said))
            taken = again()

    @staticmethod
    def _sent_already(taken: Taken, said: str) -> NotEnoughMemoryError:
        half = max(1, max(tokens_of(batch) for batches in taken for batch in batches) // 2)
        return NotEnoughMemoryError(
            f"out of memory ({said}) while gradients are sent, so that a step cannot be taken "
            f"again in smaller batches; go on with training.device_tokens: {half}"
        )

    def _lower(self, taken: Taken, said: str) -> str:
        largest = max((batch for batches in taken for batch in batches), key=tokens_of)
        had = tokens_of(largest)
        if largest.sentences == 1:
            raise NotEnoughMemoryError(
                f"out of memory ({said}) with one sentence pair at a time, of "
                f"{largest.source.shape[1]} source and {largest.target_output.shape[1]} target "
                "tokens; lower data.max_pieces, choose a smaller model, or train on a device with "
                "more memory"
            )
        if self._tokens is None:
            raise NotEnoughMemoryError(
                f"out of memory ({said}) with batches of {had:,} tokens; make them smaller"
            )
        self._tokens.lower(had // 2)
        self.lowered = self._tokens.limit
        return (
            f"out of memory ({said}) with batches of {had:,} tokens; going on with {had // 2:,} at "
            f"most, in more passes; training.device_tokens: {had // 2} does so from the start"
        )
