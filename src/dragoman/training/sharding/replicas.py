"""Replicas: every process keeps and updates everything."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dragoman.training.distributed import World
from dragoman.training.optimizers.interface import OptimizerConfig
from dragoman.training.sharding.flat_layout import FlatLayout
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
