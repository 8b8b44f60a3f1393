"""Adam whose state is shared out among the processes that train together.

After Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter
Models" (arXiv:1910.02054), section 5.1: each process keeps master weights and moments of a range of
the flat vector.  The gradient of that range is summed (reduce-scatter), the range updated, and the
working weights of all ranges are collected (all-gather).  Together these send as much as the sum of
the whole gradient, which replicas need, and less where the working weights are bfloat16.

With two processes, and parameters whose sizes are multiples of 16, results are those of replicas
bit for bit, unless the gradient is clipped: its norm is summed in another order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from dragoman.training.optimizers.distributed import World
from dragoman.training.optimizers.fixed_tensors import FixedTensors
from dragoman.training.optimizers.flat_layout import FlatLayout, learned_parameters
from dragoman.training.optimizers.optimizer import (
    AVERAGE,
    MOMENTS,
    OptimizerConfig,
    VectorAdam,
    clipped,
    named_moments,
    present_decay,
)

_AT_ONCE = 1 << 21
"""Gradients that are converted at once: 8 MB."""


class StateSharding:
    """An :class:`~.optimizer.Optimizer` that keeps a share of Adam's state.

    The model's weights and their gradient are whole in every process.

    Args:
        model: see :class:`~dragoman.training.optimizers.optimizer.FlatOptimizer`.
        config: hyperparameters of Adam.
        precision: in which the model computes.
        ema_decay: of an exponential moving average of the weights; None for none.
        world: the processes that train together, more than one.
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
        self.config = config
        self._model, self._ema_decay, self._world = model, ema_decay, world
        named = learned_parameters(model)
        self.layout = self._laid_out(model, named)
        whole = self.layout.flat({name: p.detach() for name, p in named}, named[0][1].float())
        self._working = whole.to(precision)
        self.master = self.layout.share(whole, world.rank)
        if self._working is not whole:
            self.master = self.master.clone()  # not a view, which would keep all of it
        for (_, parameter), values in zip(named, self.layout.views(self._working), strict=True):
            parameter.data = values
        self._fixed = FixedTensors(model, precision)
        self.gradient = self._own_gradient([parameter for _, parameter in named])
        decayed = self.layout.decayed_in_share(world.rank)
        self._adam = VectorAdam(config, self.master, self.gradient, decayed)
        self._average = None if ema_decay is None else self.master.clone()

    def _laid_out(self, model: nn.Module, named: Sequence[tuple[str, nn.Parameter]]) -> FlatLayout:
        return FlatLayout.whole(named, self._world.size)

    def _own_gradient(self, parameters: Sequence[nn.Parameter]) -> Tensor:
        """Give the parameters room for their gradients; returns that of this process' share."""
        self._working_gradient = torch.zeros_like(self._working)
        for parameter, place in zip(
            parameters, self.layout.views(self._working_gradient), strict=True
        ):
            parameter.grad = place
        self._collected = self._working_gradient.float()  # no copy in float32
        self._empty = True  # no pass has been collected since the last step
        return self.layout.share(self._collected, self._world.rank)

    def passes(self, counts: Sequence[int]) -> Sequence[int]:
        """Its own: gradients are sent when all of them are there."""
        return counts

    def idle(self, again: Callable[[], object]) -> None:
        """Never called; see :meth:`passes`."""

    def expect_last(self) -> None:
        """Nothing to do: everything is sent in :meth:`reduce`."""

    def collect(self) -> None:
        """Add the gradients of one backward pass, in float32."""
        if self._collected is self._working_gradient:
            return
        if self._empty:
            self._collected.copy_(self._working_gradient)
        else:  # not at once: PyTorch would first convert all of it
            parts = self._collected.split(_AT_ONCE), self._working_gradient.split(_AT_ONCE)
            for total, part in zip(*parts, strict=True):
                total.add_(part)
        self._empty = False
        self._working_gradient.zero_()

    def reduce(self, world: World) -> None:
        """Sum the gradient over the processes, of which each gets that of its share."""
        world.reduce_scatter(self._collected)

    def scale(self, factor: float) -> float:
        """Multiply the gradient by ``factor``, clip it, and return its norm before clipping."""
        square = self.gradient.norm().double().square()
        norm = math.sqrt(self._world.all_reduce(square)) * factor
        factor = clipped(factor, norm, self.config.clip_norm)
        if factor != 1.0:
            self.gradient *= factor
        return norm

    def total(self, values: Tensor) -> float:
        """The sum of ``values`` over all numbers of all processes' shares."""
        return float(self._world.all_reduce(values.sum(dtype=torch.float64)))

    def step(self, learning_rate: float) -> None:
        """Update this process' share, collect the working weights, and clear the gradient."""
        self._adam.step(learning_rate)
        self.clear()
        self._spread(self.master)
        if self._average is not None and self._ema_decay is not None:
            self._average.lerp_(self.master, 1 - present_decay(self._ema_decay, self._adam.steps))

    def _spread(self, share: Tensor) -> None:
        """Make the model compute with the shares of all processes."""
        for part, place in zip(self.layout.parts, self.layout.places(), strict=True):
            self._working[self.layout.range_of(part, self._world.rank)] = share[place]
            self._world.all_gather(self._working[part])

    @contextmanager
    def averaged(self) -> Iterator[nn.Module]:
        """The model, within a block with the average of its weights, if there is one."""
        if self._average is None:
            yield self._model
            return
        kept = self.master.clone()  # in float32, it is a view of what the model computes with
        self._spread(self._average)
        try:
            yield self._model
        finally:
            self.master.copy_(kept)
            self._spread(kept)

    def clear(self) -> None:
        """Clear the gradient."""
        self._collected.zero_()
        self._working_gradient.zero_()
        self._empty = True

    def start_over(self) -> bool:
        """See :meth:`~dragoman.training.optimizers.optimizer.Optimizer.start_over`."""
        self.clear()
        return True

    def weights(self) -> dict[str, Tensor]:
        """All parameters in float32 and the saved buffers, by name; nothing but in the leader."""
        whole = self._whole(self.master)
        return {} if whole is None else self.layout.by_name(whole) | self._fixed.exact

    def moments(self) -> dict[str, Tensor]:
        """As those of :class:`~.optimizer.FlatOptimizer`, in the leader."""
        steps = self._adam.steps
        if steps is None:
            return {}
        vectors = self._adam.moments()
        if self._average is not None:
            vectors = {AVERAGE.removesuffix("."): self._average, **vectors}
        named = {"step": steps}
        for kind, share in vectors.items():
            whole = self._whole(share)
            if whole is not None:
                tensors = self.layout.by_name(whole)
                named |= {f"{kind}.{name}": tensor for name, tensor in tensors.items()}
        return named

    def _whole(self, share: Tensor) -> Tensor | None:
        """The shares of all processes as a flat vector on the CPU; None but in the leader."""
        parts = [self._world.gather_ranges(share[place]) for place in self.layout.places()]
        found = [part for part in parts if part is not None]
        return torch.cat(found) if found else None

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        """Restore what ``weights`` and ``moments`` of any optimizer returned.

        Raises:
            SavedError: the tensors belong to another model.
        """
        self.master.copy_(self.flat(self._fixed.restore(weights)))
        self._spread(self.master)
        self.clear()
        self._adam.clear()
        if self._average is not None:
            kept = named_moments(moments, AVERAGE.removesuffix("."))
            self._average.copy_(self.flat(kept) if kept else self.master)
        if moments:
            shares = {kind: self.flat(named_moments(moments, kind)) for kind in MOMENTS}
            self._adam.restore(moments["step"], shares)

    def flat(self, tensors: dict[str, Tensor]) -> Tensor:
        """This process' share of tensors by the names of the learned parameters.

        Raises:
            SavedError: one is missing, left over or of another shape.
        """
        like = next(iter(tensors.values()), self.master).float()
        share = self.layout.share(self.layout.flat(tensors, like), self._world.rank)
        return share.to(self.master, copy=True)
