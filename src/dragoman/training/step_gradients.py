"""The gradient of one step: of all tasks, over this process' share of the batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.core.wording import named
from dragoman.data.batches import Batch, make_batch
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.dropout import dropout_from, dropout_state, seed_dropout
from dragoman.training.distributed import lost_on_the_way
from dragoman.training.sharding.interface import Sharding
from dragoman.training.tasks import Objective, Task


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

    def collect(
        self, taken: list[list[Batch]], weights: Sequence[float], at: Sequence[int]
    ) -> list[Tensor]:
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

    def _collect(
        self, taken: list[list[Batch]], weights: Sequence[float], at: Sequence[int]
    ) -> list[Tensor]:
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
