"""Optimizer state that is distributed among the processes that train together.

After Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter
Models" (arXiv:1910.02054), section 5.1: each process keeps master weights and moments of a range of
the flat vector.  The gradient of that range is summed (reduce-scatter), the range updated, and the
working weights of all ranges are collected (all-gather).  Together these send as much as the sum of
the whole gradient in replicas, and less if the working weights are bfloat16.

With two processes, and parameters whose sizes are multiples of 16, results are those of replicas
bit for bit, unless the gradient is clipped: its norm is summed in another order.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dragoman.training.distributed import World
from dragoman.training.optimizers.interface import OptimizerConfig
from dragoman.training.sharding.flat_layout import FlatLayout
from dragoman.training.sharding.interface import is_layer_matrix
from dragoman.training.sharding.vector import VectorSharding


class StateSharding(VectorSharding):
    """A :class:`~.interface.Sharding` that keeps a share of the state of the optimizer.

    The model's weights and their gradient are whole in every process.  If the optimizer is only
    elementwise beyond the matrices of layers, each of these is updated by one process.
    """

    def __init__(
        self,
        model: nn.Module,
        config: OptimizerConfig,
        precision: torch.dtype,
        ema_decay: float | None = None,
        *,
        world: World,
    ) -> None:
        self._world = world
        super().__init__(model, config, precision, ema_decay, world.rank)

    def _laid_out(self, named: Sequence[tuple[str, nn.Parameter]]) -> FlatLayout:
        if self.config.elementwise:
            return FlatLayout.whole(named, self._world.size)
        return FlatLayout.cut(named, self._world.size, lambda name: None, None, self._uncut(named))

    def _uncut(self, named: Sequence[tuple[str, nn.Parameter]]) -> frozenset[str]:
        """The parameters that the optimizer needs whole."""
        if self.config.elementwise:
            return frozenset()
        return frozenset(name for name, p in named if is_layer_matrix(self._model, name, p))

    def _spread(self, share: Tensor) -> None:
        for part, place in zip(self.layout.parts, self.layout.places(), strict=True):
            self._working[self.layout.range_of(part, self._rank)] = share[place]
            self._world.all_gather(self._working[part])

    def _whole(self, share: Tensor) -> Tensor | None:
        parts = [self._world.gather_ranges(share[place]) for place in self.layout.places()]
        gathered = [part for part in parts if part is not None]
        return torch.cat(gathered) if gathered else None

    def _summed(self, value: Tensor) -> Tensor:
        return self._world.all_reduce(value)

    def reduce(self, world: World) -> None:
        """Sum the gradient over the processes; each gets the part of its share."""
        for part, place in zip(self.layout.parts, self.layout.places(), strict=True):
            own = world.reduce_scatter(self._collected[part])
            if len(self.layout.parts) > 1:  # then it is not a view
                self.gradient[place] = own
