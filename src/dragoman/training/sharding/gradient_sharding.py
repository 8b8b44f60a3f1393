"""Gradients that are distributed among the processes as soon as they are ready.

After Rajbhandari et al. 2020, "ZeRO" (arXiv:1910.02054), section 5.2: during the backward pass, the
gradients of some layers are summed into the shares of the processes and freed, so that no process
ever has the whole gradient.  All processes send the parts in the same order in every pass,
regardless of the order in which they are ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.training.distributed import World
from dragoman.training.optimizers.interface import OptimizerConfig
from dragoman.training.sharding.flat_layout import FlatLayout
from dragoman.training.sharding.interface import HELD, PART_NUMBERS, most_passes, turn_of
from dragoman.training.sharding.state_sharding import StateSharding

_IN_FLIGHT = 2
"""Parts in flight at once; further parts wait, as each needs memory."""


class GradientSharding(StateSharding):
    """A :class:`StateSharding` that keeps only its share of the gradient.

    With several passes in a step, results differ from those of replicas by rounding: gradients are
    summed over processes in each pass, and then over passes.  At least ``part_numbers`` gradients
    are sent at once.
    """

    def __init__(
        self,
        model: TranslationModel,
        config: OptimizerConfig,
        precision: torch.dtype,
        ema_decay: float | None = None,
        *,
        world: World,
        part_numbers: int = PART_NUMBERS,
    ) -> None:
        self._part_numbers = part_numbers
        super().__init__(model, config, precision, ema_decay, world=world)
        parts = [self.layout.part_of(index) for index in range(len(self.layout.names))]
        self._turns = {
            part: turn_of(model, name, shape)
            for part, name, shape in zip(parts, self.layout.names, self.layout.shapes, strict=True)
        }
        # Within a turn, the last layers come first.
        self._order = sorted(self._turns, key=lambda part: (self._turns[part], -part))
        self._members: dict[int, list[int]] = {part: [] for part in self._order}
        for index, part in enumerate(parts):
            self._members[part].append(index)
        self._sent = 0  # parts in this pass
        self._missing: dict[int, set[int]] = {}
        self._flying: deque[tuple[slice, Callable[[], Tensor]]] = deque()
        self._begin_pass()
        for index, parameter in enumerate(self._parameters):
            if self._turns[parts[index]] < HELD:
                parameter.register_post_accumulate_grad_hook(
                    partial(self._arrived, index, parts[index])
                )

    def _laid_out(self, named: Sequence[tuple[str, nn.Parameter]]) -> FlatLayout:
        shapes = {name: parameter.shape for name, parameter in named}
        model = cast(TranslationModel, self._model)
        return FlatLayout.cut(
            named,
            self._world.size,
            lambda name: turn_of(model, name, shapes[name]),
            self._part_numbers,
            self._uncut(named),
        )

    def _own_gradient(self, parameters: Sequence[nn.Parameter]) -> Tensor:
        self._parameters = parameters
        self._empty = False
        return torch.zeros_like(self.master)

    def passes(self, counts: Sequence[int]) -> Sequence[int]:
        """The maximum over the processes, as each pass is a collective."""
        return most_passes(counts, self._world)

    def idle(self, again: Callable[[], object]) -> None:
        """Send zeros."""
        self.collect()

    def start_over(self) -> bool:
        """Not possible: other processes have parts of this gradient, and wait for the rest."""
        return False

    def _begin_pass(self) -> None:
        self._sent = 0
        self._missing = {part: set(members) for part, members in self._members.items()}

    def _arrived(self, index: int, part: int, parameter: Tensor) -> None:
        """Record that a backward pass has computed the gradient of ``parameter``."""
        if index not in self._missing[part]:
            raise ConfigError(
                "training.sharding: gradients needs an objective with one backward pass over the "
                "layers of the model, and this one has several; set it to state"
            )
        self._missing[part].discard(index)
        # Held parts are never complete; if only adapters learn, there are none.
        while self._sent < len(self._order) and not self._missing[self._order[self._sent]]:
            self._send(self._order[self._sent])

    def _send(self, part: int) -> None:
        """Start adding a part of the gradient to its shares, and free it."""
        place = self.layout.parts[part]
        numbers = torch.zeros(place.stop - place.start, device=self.master.device)
        for index in self._members[part]:
            gradient = self._parameters[index].grad
            if gradient is not None:
                start = self.layout.starts[index] - place.start
                numbers[start : start + gradient.numel()].copy_(gradient.reshape(-1))
                self._parameters[index].grad = None
        while len(self._flying) >= _IN_FLIGHT:
            self._land()
        own = self.layout.places()[part]
        self._flying.append((own, self._world.start_reduce_scatter(numbers)))
        self._sent += 1

    def _land(self) -> None:
        """Wait for the oldest part in flight, and add this process' share of it."""
        place, arrive = self._flying.popleft()
        self.gradient[place] += arrive()

    def collect(self) -> None:
        """Send the rest of the gradients of one backward pass, and wait for all."""
        for part in self._order[self._sent :]:
            self._send(part)
        while self._flying:
            self._land()
        self._begin_pass()

    def reduce(self, world: World) -> None:
        """Nothing to do: every pass has been summed."""

    def clear(self) -> None:
        """Clear the gradient."""
        self.gradient.zero_()
        for parameter in self._parameters:
            parameter.grad = None
