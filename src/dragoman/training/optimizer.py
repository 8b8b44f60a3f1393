"""Adam over one flat copy of all parameters (Kingma & Ba 2015; Vaswani et al. 2017, 5.3).

Parameters, gradients and moments each form one long vector; the model's tensors are views of it.
So clipping, averaging over processes and the update are one operation each, whatever the model.  In
bfloat16 the model works on a rounded copy; the master vector stays float32, as small updates would
vanish in bfloat16's 8 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.core.config import Config
from dragoman.core.errors import SavedError
from dragoman.models.interface import fixed_tensors
from dragoman.training.adam import FusedAdam
from dragoman.training.distributed import World

AVERAGE = "average."
"""Prefix of the names of averaged weights among the moments."""
_MOMENTS = {"first_moment": "exp_avg", "second_moment": "exp_avg_sq"}


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


def _is_matrix(parameter: Tensor) -> bool:
    """Whether it is decayed; the gains of weight normalisation have the shape ``(outputs, 1)``."""
    return parameter.dim() >= 2 and parameter.numel() > parameter.shape[0]


def _check_shape(name: str, shape: torch.Size, tensor: Tensor | None) -> None:
    if tensor is None or tensor.shape != shape:
        found = "nothing" if tensor is None else list(tensor.shape)
        raise SavedError(
            f"the checkpoint is from another configuration: {name} should be {list(shape)}, "
            f"found {found}"
        )


class Optimizer(Protocol):
    """Owns the memory of a model's parameters and gradients, and updates them.

    The trainer calls every method in all processes and in the same order, so any of them may be a
    collective.  That leaves room for sharded state (Rajbhandari et al. 2020, ZeRO): a process may
    keep only the moments of its range of the flat vector, update that range and collect the other
    ranges in :meth:`step`.  Saved state is always complete and by name, so a checkpoint does not
    depend on the number of processes or on who kept what.
    """

    @property
    def gradient(self) -> Tensor:
        """The gradient collected since the last step, ``(parameters,)``, float32."""

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

    def averaged(self) -> AbstractContextManager[None]:
        """Use the average of the weights, if there is one, within a block."""

    def weights(self) -> dict[str, Tensor]:
        """All parameters in float32, frozen ones too, and the saved buffers, by name."""

    def moments(self) -> dict[str, Tensor]:
        """The optimizer state by name; empty before the first step."""

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        """Restore what :meth:`weights` and :meth:`moments` of any implementation returned.

        Raises:
            SavedError: the tensors belong to another model.
        """


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
        self._ema_decay = ema_decay
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        # Decayed parameters come first, so that each kind is one slice.
        named.sort(key=lambda item: not _is_matrix(item[1]))
        self._names = [name for name, _ in named]
        self._shapes = [parameter.shape for _, parameter in named]
        device = named[0][1].device
        self.master = torch.cat([p.detach().reshape(-1).float() for _, p in named])
        same = precision == torch.float32
        self._working = self.master if same else self.master.to(precision)
        self._working_gradient = torch.zeros_like(self._working)
        self.gradient = (
            self._working_gradient if same else torch.zeros_like(self.master, device=device)
        )
        self._empty = True  # no pass has added to the gradient since the last step
        views = zip(
            named, self._split(self._working), self._split(self._working_gradient), strict=True
        )
        for (_, parameter), values, gradient in views:
            parameter.data = values
            parameter.grad = gradient
        self._fixed = fixed_tensors(model)
        self._exact = {name: buffer.clone() for name, buffer in self._fixed.items()}
        # Position tables, which must not promote activations, and weights that do not learn.
        frozen = (p for p in model.parameters() if not p.requires_grad)
        for tensor in (*model.buffers(), *frozen):
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(precision)
        decayed = sum(p.numel() for _, p in named if _is_matrix(p))
        slices = [
            nn.Parameter(part) for part in self.master.split([decayed, len(self.master) - decayed])
        ]
        for part, gradient in zip(
            slices, self.gradient.split([decayed, len(self.master) - decayed]), strict=True
        ):
            part.grad = gradient
        self._adam = FusedAdam(
            config.kind,
            [(slices[0], config.weight_decay), (slices[1], 0.0)],
            beta1=config.beta1,
            beta2=config.beta2,
            epsilon=config.epsilon,
        )
        self._slices = slices
        self._average = None if ema_decay is None else self.master.clone()

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
        limit = self.config.clip_norm
        if limit is not None and norm > limit:
            factor *= limit / norm
        if factor != 1.0:
            self.gradient *= factor
        return norm

    def step(self, learning_rate: float) -> None:
        """Update the parameters and clear the gradient."""
        self._adam.learning_rate = learning_rate
        self._adam.step()
        self.clear()
        if self._working is not self.master:
            self._working.copy_(self.master)
        if self._average is not None:
            self._average.lerp_(self.master, 1 - self._present_decay())

    def _present_decay(self) -> float:
        """The decay of the average: lower in the first steps, to forget fresh weights soon."""
        assert self._ema_decay is not None
        steps = float(self._adam.state[self._slices[0]]["step"])
        return min(self._ema_decay, (1 + steps) / (10 + steps))

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Use the average of the weights, if there is one, within a block."""
        if self._average is None:
            yield
            return
        kept = self._working.clone()
        self._working.copy_(self._average)
        try:
            yield
        finally:
            self._working.copy_(kept)

    def clear(self) -> None:
        """Clear the gradient."""
        self._working_gradient.zero_()
        self._empty = True

    def start_over(self) -> bool:
        """See :meth:`Optimizer.start_over`."""
        self.clear()
        return True

    def weights(self) -> dict[str, Tensor]:
        """All parameters in float32 and the saved buffers, by name; views, not copies."""
        return self._by_name(self.master) | self._exact

    def moments(self) -> dict[str, Tensor]:
        """Adam's moments as ``first_moment.NAME`` and ``second_moment.NAME``, and its step.

        The average of the weights, if there is one, is included as ``average.NAME``.
        """
        state = [self._adam.state[part] for part in self._slices]
        if not state[0]:
            return {}
        tensors = {"step": state[0]["step"].reshape(1)}
        if self._average is not None:
            named = self._by_name(self._average)
            tensors |= {f"{AVERAGE}{name}": tensor for name, tensor in named.items()}
        for ours, theirs in _MOMENTS.items():
            flat = torch.cat([part[theirs] for part in state])
            tensors |= {f"{ours}.{name}": t for name, t in self._by_name(flat).items()}
        return tensors

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        """Restore what :meth:`weights` and :meth:`moments` returned.

        Raises:
            SavedError: the tensors belong to another model.
        """
        self._restore_fixed(weights)
        learned = {name: t for name, t in weights.items() if name not in self._exact}
        self.master.copy_(self.flat(learned))
        self._working.copy_(self.master)
        self.clear()
        self._adam.state.clear()
        if self._average is not None:
            prefix = len(AVERAGE)
            kept = {name[prefix:]: t for name, t in moments.items() if name.startswith(AVERAGE)}
            self._average.copy_(self.flat(kept) if kept else self.master)
        if not moments:
            return
        sizes = [len(part) for part in self._slices]
        for ours, theirs in _MOMENTS.items():
            named = {name: moments.get(f"{ours}.{name}") for name in self._names}
            flat = self.flat({n: t for n, t in named.items() if t is not None})
            for part, values in zip(self._slices, flat.split(sizes), strict=True):
                self._adam.state[part][theirs] = values.clone()
        for part in self._slices:
            self._adam.state[part]["step"] = moments["step"].reshape(()).clone()

    def _restore_fixed(self, weights: dict[str, Tensor]) -> None:
        for name, exact in self._exact.items():
            _check_shape(name, exact.shape, weights.get(name))
            exact.copy_(weights[name])
            self._fixed[name].copy_(exact)

    def _split(self, flat: Tensor) -> list[Tensor]:
        parts = torch.split(flat, [shape.numel() for shape in self._shapes])
        return [part.view(shape) for part, shape in zip(parts, self._shapes, strict=True)]

    def _by_name(self, flat: Tensor) -> dict[str, Tensor]:
        return dict(zip(self._names, self._split(flat), strict=True))

    def flat(self, tensors: dict[str, Tensor]) -> Tensor:
        """Tensors by the names of the learned parameters as one vector in the order of the master.

        Raises:
            SavedError: one is missing, left over or of another shape.
        """
        if unknown := sorted(tensors.keys() - set(self._names)):
            raise SavedError(
                f"the checkpoint is from another configuration: {unknown[0]} does not belong"
            )
        for name, shape in zip(self._names, self._shapes, strict=True):
            _check_shape(name, shape, tensors.get(name))
        return torch.cat([tensors[name].reshape(-1) for name in self._names]).to(self.master)
