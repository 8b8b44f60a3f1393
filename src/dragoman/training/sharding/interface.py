"""The contract of every sharding, and their common functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import torch
from torch import Tensor, nn

from dragoman.models.interface import TranslationModel
from dragoman.saved.weights import fixed_tensors
from dragoman.training.distributed import World
from dragoman.training.optimizers.interface import LayerMatrix, Parameter
from dragoman.training.sharding.flat_layout import check_shape, is_matrix

AVERAGE = "average."
"""Prefix of the names of averaged weights in the optimizer state of a checkpoint."""
PART_NUMBERS = 1 << 21
"""Minimum gradients sent at once: 8 MB."""
HELD = 2
"""The turn of parts that are sent only after the backward pass."""


class Sharding(Protocol):
    """Owns the memory of a model's parameters, gradients and optimizer state.

    The trainer calls every method in all processes and in the same order, so any of them may be a
    collective.  :meth:`passes` sets, and coordinates, the number of calls of :meth:`collect`.
    Saved state is complete and by name, so a checkpoint does not depend on the number of processes
    or on the distribution of state.
    """

    @property
    def gradient(self) -> Tensor:
        """The gradient collected since the last step, a float32 vector.

        After :meth:`reduce`, it covers the numbers that this process updates.
        """

    def passes(self, counts: Sequence[int]) -> Sequence[int]:
        """The number of passes that this process makes over each task in a step.

        Args:
            counts: the numbers of its batches.

        Returns:
            At least ``counts``; the same in all processes if a pass is a collective.
        """

    def idle(self, again: Callable[[], object]) -> None:
        """Take part in a pass of the others in which this process has nothing to learn.

        Args:
            again: makes a backward pass of this process with the weight 0.
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
        """Clear the gradient collected since the last step, so that it can be collected again.

        Return False without clearing it if another process already has part of it.
        """

    def averaged(self) -> AbstractContextManager[nn.Module]:
        """The model to validate within a block, with the average of its weights if there is one.

        It is the model itself or a copy, which each process may call any number of times.
        """

    def weights(self) -> dict[str, Tensor]:
        """All parameters in float32, including frozen ones, and the saved buffers, by name.

        Complete in the leading process; others may return less, or nothing.
        """

    def moments(self) -> dict[str, Tensor]:
        """The optimizer state as ``KIND.NAME``, with its ``step``; empty before the first step.

        The average of the weights, if there is one, is included as ``average.NAME``.  Complete in
        the leading process; others may return less, or nothing.
        """

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        """Restore the results of :meth:`weights` and :meth:`moments` of any implementation.

        Raises:
            SavedError: the tensors belong to another model.
        """


class FixedTensors:
    """Saved tensors that are not learned: exact copies beside those that the model computes with.

    They are buffers, and parameters without a gradient.  A parameter in the precision in which the
    model computes has no copy.

    Args:
        model: its fixed tensors are converted to ``precision``.
        precision: in which the model computes.
    """

    def __init__(self, model: nn.Module, precision: torch.dtype) -> None:
        self._used = fixed_tensors(model)
        self.exact = {
            name: tensor.detach()
            if isinstance(tensor, nn.Parameter) and tensor.dtype == precision
            else tensor.clone()
            for name, tensor in self._used.items()
        }
        """By name, as they are saved."""
        # Position tables, which must not promote activations, and weights that do not learn.
        frozen = (p for p in model.parameters() if not p.requires_grad)
        for tensor in (*model.buffers(), *frozen):
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(precision)

    def restore(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Copy the fixed tensors of a checkpoint, and return its other weights.

        Raises:
            SavedError: a tensor is missing or has another shape.
        """
        for name, exact in self.exact.items():
            check_shape(name, exact.shape, weights.get(name))
            exact.copy_(weights[name])
            self._used[name].copy_(exact)
        return {name: tensor for name, tensor in weights.items() if name not in self.exact}


def present_decay(decay: float, steps: int) -> float:
    """The decay of a moving average; lower in the first steps, to forget fresh weights soon."""
    return min(decay, (1 + steps) / (10 + steps))


def clipped(factor: float, norm: float, limit: float | None) -> float:
    """``factor``, lowered so that a gradient of ``norm`` is no longer than ``limit``."""
    return factor * limit / norm if limit is not None and norm > limit else factor


def most_passes(counts: Sequence[int], world: World) -> list[int]:
    """The maximum of each number in ``counts`` over all processes."""
    table = torch.zeros(world.size, len(counts), dtype=torch.int64, device=world.device)
    table[world.rank] = torch.tensor(counts)
    most: list[int] = world.all_reduce(table).amax(0).tolist()
    return most


def named_moments(moments: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    """The tensors of a checkpoint whose names begin with ``kind``, by the rest of their names."""
    prefix = f"{kind}."
    return {n.removeprefix(prefix): t for n, t in moments.items() if n.startswith(prefix)}


def turn_of(model: TranslationModel, name: str, shape: Sequence[int]) -> int:
    """The turn in which the gradient of a parameter is sent.

    0 for matrices of layers.  1 for biases and gains of all layers, which are adjacent.  2 for
    embeddings and output, which wait for the end because the loss adds to them chunk by chunk.
    """
    return HELD if model.part_of(name) == "embeddings" else int(len(shape) < 2)


def is_layer_matrix(model: nn.Module, name: str, values: Tensor) -> bool:
    """Whether a parameter is a :class:`LayerMatrix`."""
    is_embedding = isinstance(model, TranslationModel) and model.part_of(name) == "embeddings"
    return values.dim() == 2 and is_matrix(values) and not is_embedding


def own_parameter(model: nn.Module, name: str, values: Tensor) -> Parameter:
    """A parameter for an optimizer that is not elementwise, in the shape of the model."""
    kind = LayerMatrix if is_layer_matrix(model, name, values) else Parameter
    return kind(values, is_matrix(values))
