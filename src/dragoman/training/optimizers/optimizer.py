"""Adam over one flat copy of all parameters (Kingma & Ba 2015; Vaswani et al. 2017, 5.3).

Parameters, gradients and moments each form one long vector; the model's tensors are views of it.
So clipping, averaging over processes and the update are one operation each, whatever the model.  In
bfloat16 the model works on a rounded copy; the master vector stays float32, as small updates would
vanish in bfloat16's 8 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.core.config import Config
from dragoman.training.optimizers.adam import FusedAdam
from dragoman.training.optimizers.distributed import World
from dragoman.training.optimizers.fixed_tensors import FixedTensors
from dragoman.training.optimizers.flat_layout import FlatLayout, learned_parameters

AVERAGE = "average."
"""Prefix of the names of averaged weights among the moments."""
MOMENTS = {"first_moment": "exp_avg", "second_moment": "exp_avg_sq"}
"""What a checkpoint calls the moments, and what PyTorch does."""


class OptimizerConfig(Config):
    """Hyperparameters of Adam; the defaults are the paper's."""

    kind: Literal["adam", "adamw"] = "adam"
    """Adam, or AdamW (Loshchilov & Hutter 2019), whose weight decay bypasses the moments."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay rate of the first moment."""
    beta2: float = Field(0.98, ge=0, lt=1)
    """Decay rate of the second moment."""
    epsilon: float = Field(1e-9, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay of matrices; biases and normalisation gains are not decayed."""
    clip_norm: float | None = Field(None, gt=0)
    """Maximum gradient norm; a larger gradient is scaled down. By default gradients are not
    clipped, as in the paper."""


class Optimizer(Protocol):
    """Owns the memory of a model's parameters and gradients, and updates them.

    The trainer calls every method in all processes and in the same order, so any of them may be a
    collective.  :meth:`collect` is called as often as :meth:`passes` says, which is where an
    implementation agrees on it.  Saved state is complete and by name, so a checkpoint does not
    depend on the number of processes or on who kept what.
    """

    @property
    def gradient(self) -> Tensor:
        """The gradient collected since the last step, a float32 vector.

        After :meth:`reduce`, it is that of the numbers that this process updates.
        """

    def passes(self, counts: Sequence[int]) -> Sequence[int]:
        """How many passes this process shall make over each task in a step.

        Args:
            counts: the numbers of its batches.

        Returns:
            At least as many; the same in all processes where a pass is a collective.
        """

    def idle(self, again: Callable[[], object]) -> None:
        """Take part in a pass of the others in which this process has nothing to learn.

        Args:
            again: makes a backward pass of this process' own with the weight 0.
        """

    def expect_last(self) -> None:
        """Announce that the next gradients to collect are the last ones before :meth:`reduce`.

        They may be sent while their backward pass is still running.
        """

    def collect(self) -> None:
        """Add the gradients of one backward pass to :attr:`gradient`."""

    def reduce(self, world: World) -> None:
        """Sum the gradient over the processes; each needs at least its own range."""

    def scale(self, factor: float) -> float:
        """Multiply the gradient by ``factor``, clip it, and return its norm before clipping.

        The norm is that of the whole gradient, in every process.
        """

    def step(self, learning_rate: float) -> None:
        """Update the parameters, equally in every process, and clear the gradient."""

    def clear(self) -> None:
        """Clear the gradient."""

    def start_over(self) -> bool:
        """Clear what was collected since the last step, to collect it again.

        False, and nothing is done, if another process has some of it already.
        """

    def averaged(self) -> AbstractContextManager[nn.Module]:
        """The model to validate within a block: with the average of its weights, if there is one.

        It is this optimizer's model or a copy, which each process may call as often as it likes.
        """

    def weights(self) -> dict[str, Tensor]:
        """All parameters in float32, frozen ones too, and the saved buffers, by name.

        In the leading process; others may return less, or nothing.
        """

    def moments(self) -> dict[str, Tensor]:
        """The optimizer state by name; empty before the first step.

        In the leading process; others may return less, or nothing.
        """

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        """Restore what :meth:`weights` and :meth:`moments` of any implementation returned.

        Raises:
            SavedError: the tensors belong to another model.
        """


class VectorOptimizer(Optimizer, Protocol):
    """An :class:`Optimizer` of one vector, the whole or a share of it."""

    @property
    def master(self) -> Tensor:
        """The weights that this process updates, float32, as in :attr:`gradient`."""

    def flat(self, tensors: dict[str, Tensor]) -> Tensor:
        """Tensors by the names of the learned parameters as a vector that matches the master.

        Raises:
            SavedError: one is missing, left over or of another shape.
        """

    def total(self, values: Tensor) -> float:
        """The sum of ``values``, which correspond to the master, over all numbers of the model."""


class VectorAdam:
    """Adam over one vector, whose first numbers are decayed.

    Args:
        config: hyperparameters of Adam.
        values: updated in place.
        gradient: of ``values``.
        decayed: how many of them are decayed.
    """

    def __init__(
        self, config: OptimizerConfig, values: Tensor, gradient: Tensor, decayed: int
    ) -> None:
        self._sizes = [decayed, len(values) - decayed]
        self._slices = [nn.Parameter(part) for part in values.split(self._sizes)]
        for part, own in zip(self._slices, gradient.split(self._sizes), strict=True):
            part.grad = own
        self._adam = FusedAdam(
            config.kind,
            list(zip(self._slices, (config.weight_decay, 0.0), strict=True)),
            beta1=config.beta1,
            beta2=config.beta2,
            epsilon=config.epsilon,
        )

    def step(self, learning_rate: float) -> None:
        """Update the values by the gradient."""
        self._adam.learning_rate = learning_rate
        self._adam.step()

    @property
    def steps(self) -> Tensor | None:
        """Number of updates, ``(1,)``; None before the first."""
        state = self._adam.state[self._slices[0]]
        return state["step"].reshape(1) if state else None

    def moments(self) -> dict[str, Tensor]:
        """Both moments as vectors, by the names of a checkpoint; empty before the first update."""
        state = [self._adam.state[part] for part in self._slices]
        if not state[0]:
            return {}
        return {
            ours: torch.cat([part[theirs] for part in state]) for ours, theirs in MOMENTS.items()
        }

    def clear(self) -> None:
        """Forget the moments."""
        self._adam.state.clear()

    def restore(self, steps: Tensor, moments: dict[str, Tensor]) -> None:
        """Take over what :attr:`steps` and :meth:`moments` returned."""
        for ours, theirs in MOMENTS.items():
            for part, values in zip(self._slices, moments[ours].split(self._sizes), strict=True):
                self._adam.state[part][theirs] = values.clone()
        for part in self._slices:
            self._adam.state[part]["step"] = steps.reshape(()).to(part.device, copy=True)


def present_decay(decay: float, steps: Tensor | None) -> float:
    """The decay of a moving average: lower in the first steps, to forget fresh weights soon."""
    count = 0.0 if steps is None else float(steps)
    return min(decay, (1 + count) / (10 + count))


def clipped(factor: float, norm: float, limit: float | None) -> float:
    """``factor``, lowered so that a gradient of ``norm`` is no longer than ``limit``."""
    return factor * limit / norm if limit is not None and norm > limit else factor


def most_passes(counts: Sequence[int], world: World) -> list[int]:
    """Of each number in ``counts`` the largest that any process has."""
    found = torch.zeros(world.size, len(counts), dtype=torch.int64, device=world.device)
    found[world.rank] = torch.tensor(counts)
    most: list[int] = world.all_reduce(found).amax(0).tolist()
    return most


def named_moments(moments: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    """The tensors of a checkpoint whose names begin with ``kind``, by the rest of their names."""
    prefix = f"{kind}."
    return {n.removeprefix(prefix): t for n, t in moments.items() if n.startswith(prefix)}


class FlatOptimizer:
    """An :class:`Optimizer` with which every process keeps and updates everything.

    Args:
        model: those of its parameters that require a gradient become views of this object's
            vectors; others and buffers are converted and never changed.
        config: hyperparameters of Adam.
        precision: in which the model computes, float32 or bfloat16.
        ema_decay: of an exponential moving average of the weights; None for none.
    """

    def __init__(
        self,
        model: nn.Module,
        config: OptimizerConfig,
        precision: torch.dtype,
        ema_decay: float | None = None,
    ) -> None:
        self.config = config
        self._model, self._ema_decay = model, ema_decay
        named = learned_parameters(model)
        self.layout = FlatLayout.unbroken(named)
        self.master = torch.cat([p.detach().reshape(-1).float() for _, p in named])
        same = precision == torch.float32
        self._working = self.master if same else self.master.to(precision)
        self._working_gradient = torch.zeros_like(self._working)
        self.gradient = self._working_gradient if same else torch.zeros_like(self.master)
        self._empty = True  # no pass has added to the gradient since the last step
        views = self.layout.views(self._working), self.layout.views(self._working_gradient)
        for (_, parameter), values, gradient in zip(named, *views, strict=True):
            parameter.data = values
            parameter.grad = gradient
        self._fixed = FixedTensors(model, precision)
        self._adam = VectorAdam(config, self.master, self.gradient, self.layout.decayed)
        self._average = None if ema_decay is None else self.master.clone()

    def passes(self, counts: Sequence[int]) -> Sequence[int]:
        """Its own: gradients are sent when all of them are there."""
        return counts

    def idle(self, again: Callable[[], object]) -> None:
        """Never called; see :meth:`passes`."""

    def expect_last(self) -> None:
        """Nothing to do: everything is sent in :meth:`reduce`."""

    def collect(self) -> None:
        """Add the gradients of one backward pass to :attr:`gradient`, in float32."""
        self._collect(slice(None))
        self._empty = False

    def _collect(self, place: slice) -> None:
        """Collect a range of the flat vector."""
        if self._working_gradient is self.gradient:
            return
        if self._empty:  # takes a third of the time of adding to zeros
            self.gradient[place].copy_(self._working_gradient[place])
        else:
            self.gradient[place].add_(self._working_gradient[place])
        self._working_gradient[place].zero_()

    def reduce(self, world: World) -> None:
        """Sum the gradient over the processes: one vector, one collective."""
        world.all_reduce(self.gradient)

    def scale(self, factor: float) -> float:
        """Multiply the gradient by ``factor``, clip it, and return its norm before clipping."""
        assert not self._empty or self._working is self.master, "collect() comes first"
        norm = float(self.gradient.norm()) * factor
        factor = clipped(factor, norm, self.config.clip_norm)
        if factor != 1.0:
            self.gradient *= factor
        return norm

    def step(self, learning_rate: float) -> None:
        """Update the parameters and clear the gradient."""
        self._adam.step(learning_rate)
        self.clear()
        if self._working is not self.master:
            self._working.copy_(self.master)
        if self._average is not None and self._ema_decay is not None:
            decay = present_decay(self._ema_decay, self._adam.steps)
            self._average.lerp_(self.master, 1 - decay)

    @contextmanager
    def averaged(self) -> Iterator[nn.Module]:
        """The model, within a block with the average of its weights, if there is one."""
        if self._average is None:
            yield self._model
            return
        kept = self._working.clone()
        self._working.copy_(self._average)
        try:
            yield self._model
        finally:
            self._working.copy_(kept)

    def clear(self) -> None:
        """Clear the gradient."""
        self._working_gradient.zero_()
        self._empty = True

    def total(self, values: Tensor) -> float:
        """Their sum: every process has all values."""
        return float(values.sum())

    def start_over(self) -> bool:
        """See :meth:`Optimizer.start_over`."""
        self.clear()
        return True

    def weights(self) -> dict[str, Tensor]:
        """All parameters in float32 and the saved buffers, by name; views, not copies."""
        return self.layout.by_name(self.master) | self._fixed.exact

    def moments(self) -> dict[str, Tensor]:
        """Adam's moments as ``first_moment.NAME`` and ``second_moment.NAME``, and its step.

        The average of the weights, if there is one, is included as ``average.NAME``.
        """
        steps = self._adam.steps
        if steps is None:
            return {}
        vectors = self._adam.moments()
        if self._average is not None:
            vectors = {AVERAGE.removesuffix("."): self._average, **vectors}
        named = {
            f"{kind}.{name}": tensor
            for kind, vector in vectors.items()
            for name, tensor in self.layout.by_name(vector).items()
        }
        return {"step": steps, **named}

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        """Restore what :meth:`weights` and :meth:`moments` returned.

        Raises:
            SavedError: the tensors belong to another model.
        """
        self.master.copy_(self.flat(self._fixed.restore(weights)))
        self._working.copy_(self.master)
        self.clear()
        self._adam.clear()
        if self._average is not None:
            kept = named_moments(moments, AVERAGE.removesuffix("."))
            self._average.copy_(self.flat(kept) if kept else self.master)
        if moments:
            vectors = {kind: self.flat(named_moments(moments, kind)) for kind in MOMENTS}
            self._adam.restore(moments["step"], vectors)

    def flat(self, tensors: dict[str, Tensor]) -> Tensor:
        """Tensors by the names of the learned parameters as a vector that matches the master.

        Raises:
            SavedError: one is missing, left over or of another shape.
        """
        return self.layout.flat(tensors, self.master)
