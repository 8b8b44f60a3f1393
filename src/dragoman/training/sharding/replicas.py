"""Replicas: every process keeps and updates everything.

:class:`OverlappingReplicas` sum gradients over processes while the backward pass is still running,
after Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training"
(arXiv:2006.15704), section 3.2: the flat gradient is split into parts, and each is sent as soon as
all of its parameters have their gradients.  All processes send the parts in the same order,
regardless of the order in which they are ready.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.training.distributed import World
from dragoman.training.optimizers.interface import OptimizerConfig
from dragoman.training.sharding.flat_layout import FlatLayout
from dragoman.training.sharding.interface import HELD, PART_NUMBERS, turn_of
from dragoman.training.sharding.vector import VectorSharding


class Replicas(VectorSharding):
    """A :class:`~.interface.Sharding` that shares nothing; also the choice of a single process."""

    def __init__(
        self,
        model: nn.Module,
        config: OptimizerConfig,
        precision: torch.dtype,
        ema_decay: float | None = None,
    ) -> None:
        super().__init__(model, config, precision, ema_decay, rank=0)

    def _laid_out(self, named: Sequence[tuple[str, nn.Parameter]]) -> FlatLayout:
        return FlatLayout.unbroken(named)

    def _spread(self, share: Tensor) -> None:
        if not (self._is_shared and share is self.master):
            self._working.copy_(share)

    def _whole(self, share: Tensor) -> Tensor:
        return share

    def _summed(self, value: Tensor) -> Tensor:
        return value

    def total(self, values: Tensor) -> float:
        """The sum of ``values``, as every process has all of them."""
        return float(values.sum())

    def reduce(self, world: World) -> None:
        """Sum the gradient over the processes: one vector, one collective."""
        world.all_reduce(self.gradient)


@dataclass(frozen=True)
class _Part:
    """A range of the flat vector."""

    place: slice
    names: frozenset[str]
    """Number of parameters in the range."""
    turn: int
    """As in :func:`turn_of`."""


def _size(part: _Part) -> int:
    return int(part.place.stop - part.place.start)


class OverlappingReplicas(Replicas):
    """:class:`Replicas` that send at least ``part_numbers`` gradients as soon as they are ready."""

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
        super().__init__(model, config, precision, ema_decay)
        self._parts = self._cut(model, part_numbers)
        self._world = world
        self._expecting = False  # the last backward pass of a step is next, or running
        self._missing: list[set[str]] = []
        self._handles: list[Callable[[], None]] = []
        if world.size > 1:
            part_of = {name: i for i, part in enumerate(self._parts) for name in part.names}
            for name, parameter in model.named_parameters():
                if name in part_of and self._parts[part_of[name]].turn < HELD:
                    parameter.register_post_accumulate_grad_hook(
                        partial(self._arrived, name, part_of[name])
                    )

    def _cut(self, model: TranslationModel, part_numbers: int) -> list[_Part]:
        """The parts in the order of sending: by turn, the last layers first."""
        parts: list[_Part] = []
        end = len(self.master)
        names, shapes = reversed(self.layout.names), reversed(self.layout.shapes)
        for name, shape in zip(names, shapes, strict=True):
            turn = turn_of(model, name, shape)
            stop, together = end, frozenset([name])
            end -= shape.numel()
            if parts and parts[-1].turn == turn and _size(parts[-1]) < part_numbers:
                before = parts.pop()
                stop, together = before.place.stop, together | before.names
            parts.append(_Part(slice(end, stop), together, turn))
        return sorted(parts, key=lambda part: part.turn)  # stable

    @override
    def expect_last(self) -> None:
        self._expecting = True
        self._missing = [set(part.names) for part in self._parts]

    def _arrived(self, name: str, part: int, parameter: Tensor) -> None:
        """Record that a backward pass has computed the gradient of ``parameter``."""
        if not self._expecting:
            return
        if name not in self._missing[part]:
            raise ConfigError(
                "training.send_gradients: during needs an objective with one backward pass over "
                "the layers of the model, and this one has several; set it to after"
            )
        self._missing[part].discard(name)
        # Parts with turn 2 are never complete; if only adapters learn, there are none.
        while len(self._handles) < len(self._parts) and not self._missing[len(self._handles)]:
            place = self._parts[len(self._handles)].place
            self._collect(place)
            self._send(place)

    def _send(self, place: slice) -> None:
        self._handles.append(self._world.start_all_reduce(self.gradient[place]))

    def collect(self) -> None:
        """Parts already sent are complete."""
        for part in self._parts[len(self._handles) :]:
            self._collect(part.place)
        self._empty = False

    def start_over(self) -> bool:
        """Parts already sent cannot be taken back."""
        self._expecting = False
        return not self._handles and super().start_over()

    def reduce(self, world: World) -> None:
        """Send the remaining parts, and wait for all."""
        if world.size > 1:
            for part in self._parts[len(self._handles) :]:
                self._send(part.place)
            for wait in self._handles:
                wait()
        self._handles, self._expecting = [], False
