"""Adam and AdamW with PyTorch's fused step, without its optimizer classes.

Creating the first of those imports PyTorch's compiler, which takes as long to load as PyTorch
itself, although nothing here is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.adamw import adamw

from dragoman.core.config import Config
from dragoman.training.optimizers.interface import Optimizer, OptimizerConfig, Parameter


class MomentsConfig(Config):
    """The first keys of :class:`AdamConfig`, which files have before those of every optimizer."""

    kind: str
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay rate of the first moment."""
    beta2: float = Field(0.98, ge=0, lt=1)
    """Decay rate of the second moment."""
    epsilon: float = Field(1e-9, gt=0)
    """Added to the root of the second moment."""


class AdamConfig(OptimizerConfig, MomentsConfig):
    """Hyperparameters of Adam; the defaults are the paper's."""

    kind: Literal["adam", "adamw"] = "adam"
    """Adam, or AdamW (Loshchilov & Hutter 2019), whose weight decay bypasses the moments."""

    elementwise: ClassVar[bool] = True

    def build(self, parameters: Sequence[Parameter]) -> Optimizer:
        """Create the optimizer of ``parameters``."""
        return Adam(self, parameters)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), or AdamW with decoupled decay (Loshchilov and Hutter 2019).

    Results are bit for bit those of ``torch.optim.Adam`` and ``torch.optim.AdamW`` with
    ``fused=True``.
    """

    def __init__(self, config: AdamConfig, parameters: Sequence[Parameter]) -> None:
        self._config = config
        self._fused_step = adamw if config.kind == "adamw" else adam
        super().__init__(parameters)

    def initial_state(self, values: Tensor) -> dict[str, Tensor]:
        """Both moments, in the shape of ``values``."""
        return {
            "first_moment": torch.zeros_like(values),
            "second_moment": torch.zeros_like(values),
        }

    def update(
        self, parameter: Parameter, gradient: Tensor, state: dict[str, Tensor], learning_rate: float
    ) -> None:
        """Update a parameter by PyTorch's fused step."""
        values, is_decayed = parameter
        config = self._config
        # The fused step adds 1, on the device of the values.
        steps = torch.full((), self.steps - 1, dtype=torch.float32, device=values.device)
        self._fused_step(
            [values],
            [gradient],
            [state["first_moment"]],
            [state["second_moment"]],
            [],
            [steps],
            fused=True,
            amsgrad=False,
            beta1=config.beta1,
            beta2=config.beta2,
            lr=learning_rate,
            weight_decay=config.weight_decay if is_decayed else 0.0,
            eps=config.epsilon,
            maximize=False,
        )
