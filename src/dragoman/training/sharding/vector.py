"""Parameters, gradients and optimizer state as long vectors.

The model's tensors are views of them.  So clipping, averaging over processes and the update are one
operation each for any model.  In bfloat16 the model computes with a rounded copy; the master
vector stays float32, as small updates would vanish in bfloat16's 8 bits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from dragoman.training.distributed import World
from dragoman.training.optimizers.interface import LayerMatrix, OptimizerConfig, Parameter
from dragoman.training.sharding.flat_layout import (
    FlatLayout,
    check_shape,
    learned_parameters,
)
from dragoman.training.sharding.interface import (
    AVERAGE,
    FixedTensors,
    clipped,
    named_moments,
    own_parameter,
    present_decay,
)

_AT_ONCE = 1 << 21
"""Number of gradients to convert at once: 8 MB."""


class VectorSharding(ABC):
    """A :class:`~.interface.Sharding` of one vector, of which each process updates a share.

    Args:
        model: its parameters that require a gradient become views of this object's vectors; others
            and buffers are converted and never changed.
        config: of the optimizer.
        precision: in which the model computes, float32 or bfloat16.
        ema_decay: of an exponential moving average of the weights; None for none.
        rank: number of this process' share.
    """

    def __init__(
        self,
        model: nn.Module,
        config: OptimizerConfig,
        precision: torch.dtype,
        ema_decay: float | None,
        rank: int,
    ) -> None:
        self.config = config
        self._model, self._ema_decay, self._rank = model, ema_decay, rank
        named = learned_parameters(model)
        self.layout = self._laid_out(named)
        whole = self.layout.flat({name: p.detach() for name, p in named}, named[0][1].float())
        self._working = whole.to(precision)
        self._is_shared = self._working is whole  # the model computes with the master vector
        self.master = self.layout.share(whole, rank)
        """The weights that this process updates, float32, as in :attr:`gradient`."""
        if not self._is_shared and len(self.master) < len(whole):
            self.master = self.master.clone()  # not a view, which would keep all of it
        for (_, parameter), values in zip(named, self.layout.views(self._working), strict=True):
            parameter.data = values
        self._fixed = FixedTensors(model, precision)
        self.gradient = self._own_gradient([parameter for _, parameter in named])
        self._optimizer = config.build(self._updated())
        self._average = None if ema_decay is None else self.master.clone()

    @abstractmethod
    def _laid_out(self, named: Sequence[tuple[str, nn.Parameter]]) -> FlatLayout:
        """The layout of the vector."""

    @abstractmethod
    def _spread(self, share: Tensor) -> None:
        """Make the model compute with the shares of all processes."""

    @abstractmethod
    def _whole(self, share: Tensor) -> Tensor | None:
        """The vector from the shares of all processes; None except in the leader."""

    @abstractmethod
    def _summed(self, value: Tensor) -> Tensor:
        """The sum of the values of all shares."""

    @abstractmethod
    def reduce(self, world: World) -> None:
        """Sum the gradient over the processes."""

    def _own_gradient(self, parameters: Sequence[nn.Parameter]) -> Tensor:
        """Allocate the parameters' gradients, and return that of this process' share."""
        self._working_gradient = torch.zeros_like(self._working)
        views = self.layout.views(self._working_gradient)
        for parameter, place in zip(parameters, views, strict=True):
            parameter.grad = place
        self._collected = self._working_gradient.float()  # no copy in float32
        self._empty = True  # no pass has been collected since the last step
        return self.layout.share(self._collected, self._rank)

    def _updated(self) -> list[Parameter]:
        """The parameters of the optimizer: a few long vectors if it is elementwise.

        If it is elementwise beyond the matrices of layers, and others have a share, these matrices
        and a few long vectors.
        """
        parameters: list[Parameter] = []
        if self._has_pieces:
            self._pieces = self.layout.pieces(self._rank)
            for place, shape, is_decayed, is_whole in self._pieces:
                kind = LayerMatrix if is_whole else Parameter
                parameters.append(kind(self.master[place].view(shape), is_decayed))
                parameters[-1].values.grad = self.gradient[place].view(shape)
            self._kinds = self._kinds_of_state()
            return parameters
        gradients = self.layout.views(self.gradient)
        own = self.layout.by_name(self.master)
        for (name, values), gradient in zip(own.items(), gradients, strict=True):
            parameters.append(own_parameter(self._model, name, values))
            values.grad = gradient
        return parameters

    @property
    def _has_pieces(self) -> bool:
        """Whether the optimizer updates pieces of the layout, and not parameters by name."""
        return self.config.elementwise or self.layout.processes > 1

    def _kinds_of_state(self) -> dict[str, list[str]]:
        """Kinds of the optimizer's state, and the names of the parameters that have it.

        Equal in all processes, even where a process has no matrix of its own.
        """
        vector = Parameter(self.master.new_zeros(1), False)
        matrix = LayerMatrix(self.master.new_zeros(1, 1), True)
        of_vector, of_matrix = self.config.build([vector, matrix]).state
        return {
            kind: [
                name
                for name in self.layout.names
                if kind in (of_matrix if name in self.layout.uncut else of_vector)
            ]
            for kind in of_vector | of_matrix
        }

    def passes(self, counts: Sequence[int]) -> Sequence[int]:
        """The numbers of this process, as gradients are sent when all of them are ready."""
        return counts

    def idle(self, again: Callable[[], object]) -> None:
        """Never called, as :meth:`passes` adds none."""
        raise AssertionError("no pass of another process needs this one")

    def expect_last(self) -> None:  # noqa: B027, which takes it for a forgotten abstract method
        """Nothing to do: everything is sent in :meth:`reduce`."""

    def collect(self) -> None:
        """Add the gradients of one backward pass, in float32."""
        self._collect(slice(None))
        self._empty = False

    def _collect(self, place: slice) -> None:
        """Collect a range of the whole vector."""
        if self._is_shared:
            return
        total, gradient = self._collected[place], self._working_gradient[place]
        if self._empty:  # takes a third of the time of adding to zeros
            total.copy_(gradient)
        else:  # not at once: PyTorch would first convert all of it
            for part, own in zip(total.split(_AT_ONCE), gradient.split(_AT_ONCE), strict=True):
                part.add_(own)
        gradient.zero_()

    def scale(self, factor: float) -> float:
        """Multiply the gradient by ``factor``, clip it, and return its norm before clipping."""
        assert self._is_shared or not self._empty, "collect() comes first"
        square = self.gradient.norm().double().square()
        norm = math.sqrt(self._summed(square)) * factor
        factor = clipped(factor, norm, self.config.clip_norm)
        if factor != 1.0:
            self.gradient *= factor
        return norm

    def step(self, learning_rate: float) -> None:
        """Update this process' share, make the model compute with it, and clear the gradient."""
        self._optimizer.step(learning_rate)
        self.clear()
        self._spread(self.master)
        if self._average is not None and self._ema_decay is not None:
            decay = present_decay(self._ema_decay, self._optimizer.steps)
            self._average.lerp_(self.master, 1 - decay)

    @contextmanager
    def averaged(self) -> Iterator[nn.Module]:
        """The model, within a block with the average of its weights, if there is one."""
        if self._average is None:
            yield self._model
            return
        kept = self.master.clone() if self._is_shared else self.master
        self._spread(self._average)
        try:
            yield self._model
        finally:
            self.master.copy_(kept)
            self._spread(self.master)

    def clear(self) -> None:
        """Clear the gradient."""
        self._working_gradient.zero_()
        self._empty = True

    def start_over(self) -> bool:
        """Clear the gradient: no other process has any of it."""
        self.clear()
        return True

    def total(self, values: Tensor) -> float:
        """The sum over the whole model of ``values``, which correspond to this process' master."""
        return float(self._summed(values.sum(dtype=torch.float64)))

    def weights(self) -> dict[str, Tensor]:
        """All parameters in float32 and the saved buffers, by name; empty except in the leader."""
        whole = self._whole(self.master)
        return {} if whole is None else self.layout.by_name(whole) | self._fixed.exact

    def moments(self) -> dict[str, Tensor]:
        """The optimizer state by name, with the average of the weights; empty before a step."""
        steps = self._optimizer.steps
        if not steps:
            return {}
        named = {"step": torch.tensor([float(steps)])}
        if self._average is not None:
            named |= self._named(AVERAGE.removesuffix("."), self._average, self.layout.names)
        states = self._optimizer.state
        if not self._has_pieces:
            for name, state in zip(self.layout.names, states, strict=True):
                named |= {f"{kind}.{name}": tensor for kind, tensor in state.items()}
            return named
        for kind, names in self._kinds.items():
            share = torch.zeros_like(self.master)
            for piece, state in zip(self._pieces, states, strict=True):
                if kind in state:
                    share[piece.place] = state[kind].view(-1)
            named |= self._named(kind, share, names)
        return named

    def _named(self, kind: str, share: Tensor, names: Sequence[str]) -> dict[str, Tensor]:
        whole = self._whole(share)
        if whole is None:
            return {}
        tensors = self.layout.by_name(whole)
        return {f"{kind}.{name}": tensors[name] for name in names}

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        """Restore the results of ``weights`` and ``moments`` of any sharding."""
        self.master.copy_(self.flat(self._fixed.restore(weights)))
        self._spread(self.master)
        self.clear()
        self._optimizer.reset()
        if self._average is not None:
            kept = named_moments(moments, AVERAGE.removesuffix("."))
            self._average.copy_(self.flat(kept) if kept else self.master)
        if moments:
            self._restore_state(moments)

    def _restore_state(self, moments: dict[str, Tensor]) -> None:
        self._optimizer.steps = int(moments["step"])
        states = self._optimizer.state
        if not self._has_pieces:
            for name, state in zip(self.layout.names, states, strict=True):
                for kind, tensor in state.items():
                    saved = moments.get(f"{kind}.{name}")
                    check_shape(f"{kind}.{name}", tensor.shape, saved)
                    tensor.copy_(moments[f"{kind}.{name}"])
            return
        for kind, names in self._kinds.items():
            share = self.flat(named_moments(moments, kind), names)
            for piece, state in zip(self._pieces, states, strict=True):
                if kind in state:
                    state[kind].copy_(share[piece.place].view(piece.shape))

    def flat(self, tensors: dict[str, Tensor], names: Sequence[str] | None = None) -> Tensor:
        """This process' share of tensors by the names of the learned parameters, or of some."""
        like = next(iter(tensors.values()), self.master).float()
        share = self.layout.share(self.layout.flat(tensors, like, names), self._rank)
        return share.to(self.master, copy=True)
