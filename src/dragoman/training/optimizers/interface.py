"""The contract of every optimizer, and the base class of its configuration.

An optimizer has access to parameters, gradients and its own state.
:mod:`dragoman.training.sharding` distributes them over processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from dragoman.core.config import Config


class Parameter(NamedTuple):
    """Numbers that an optimizer updates."""

    values: Tensor
    """float32, updated in place; its attribute ``grad`` is the gradient."""
    is_decayed: bool
    """Whether weight decay applies: to matrices, but not to biases and normalisation gains."""


class LayerMatrix(Parameter):
    """A matrix that a layer multiplies by: neither an embedding nor the output matrix.

    Optimizers that are not elementwise get these, so that they may treat them apart.
    """


class Optimizer(ABC):
    """Updates parameters in place by their gradients.

    A subclass writes :meth:`initial_state` and :meth:`update`.

    Args:
        parameters: in the shapes of the model, or, with an elementwise optimizer, vectors of many
            parameters or of pieces of them.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = list(parameters)
        self.reset()

    def reset(self) -> None:
        """Return to the state before the first step."""
        self.steps = 0
        """Updates so far."""
        self.state = [self.initial_state(values) for values, _ in self.parameters]
        """For each parameter its tensors by name, under which a checkpoint has them."""

    @abstractmethod
    def initial_state(self, values: Tensor) -> dict[str, Tensor]:
        """The state of a parameter before the first step.

        Names contain no dots.  With an elementwise optimizer, each tensor has the shape of
        ``values``.
        """

    @abstractmethod
    def update(
        self, parameter: Parameter, gradient: Tensor, state: dict[str, Tensor], learning_rate: float
    ) -> None:
        """Update the values of a parameter, and its state, in place.

        Args:
            parameter: to update.
            gradient: in the shape of its values.
            state: of the parameter.
            learning_rate: of this step, whose number from 1 on is :attr:`steps`.
        """

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Update every parameter that has a gradient."""
        self.steps += 1
        for parameter, state in zip(self.parameters, self.state, strict=True):
            if parameter.values.grad is not None:
                self.update(parameter, parameter.values.grad, state, learning_rate)


class OptimizerConfig(Config):
    """An optimizer from another installed package, with its own keys."""

    kind: str
    """Name of its entry point in the group `dragoman.optimizers`."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay of matrices; biases and normalisation gains are not decayed."""
    clip_norm: float | None = Field(None, gt=0)
    """Maximum gradient norm; a larger gradient is scaled down. By default gradients are not
    clipped, as in the paper."""

    elementwise: ClassVar[bool] = False
    """Whether each number is updated from its own gradient and state alone, so that parameters may
    be joined and cut anywhere."""
    elementwise_beyond_layers: ClassVar[bool] = False
    """Whether that holds for everything but :class:`LayerMatrix`.  Processes that share out state
    or gradients then keep these whole, each by one process; with neither, nothing is sharded."""

    @abstractmethod
    def build(self, parameters: Sequence[Parameter]) -> Optimizer:
        """Create the optimizer of ``parameters``."""
