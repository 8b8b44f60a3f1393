"""Muon: momentum whose directions are made equally long, for the matrices of layers.

Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks"
(https://kellerjordan.github.io/posts/muon/).  Updates are as large as Adam's, after Liu et al.
2025, "Muon is Scalable for LLM Training" (arXiv:2502.16982), section 2.2.  ``torch.optim.Muon`` is
newer than the oldest PyTorch supported here, and takes matrices only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from dragoman.core.device import computes_bfloat16
from dragoman.training.optimizers.adam import Adam, AdamConfig, MomentsConfig
from dragoman.training.optimizers.interface import (
    LayerMatrix,
    Optimizer,
    OptimizerConfig,
    Parameter,
)

_POLYNOMIALS = (
    (8.0934, -23.6204, 17.4462),
    (3.6366, -2.7219, 0.5365),
    (2.6613, -1.9772, 0.4526),
)
"""``a s + b s^3 + c s^5`` of each iteration, applied to singular values one after another.  Each is
nearest to 1 on the interval that the one before leaves, beginning with [0.01, 1].  They end in
[0.73, 1.27]; smaller ones are multiplied by up to 78."""
_MARGIN = 1.02
"""For rounding: above 1 the polynomials grow without bound."""
_SMALLEST_NORM = 1e-7
_ADAMS_SIZE = 0.2
"""Root mean square of an update by Adam, as Liu et al. observed it."""


class MuonConfig(OptimizerConfig, MomentsConfig):
    """Muon for the matrices of layers (Jordan et al. 2024), and Adam for the other parameters.

    Biases, normalisation gains, embeddings and the output matrix learn by Adam, with `beta1`,
    `beta2` and `epsilon`.
    """

    kind: Literal["muon"] = "muon"
    """Muon for the matrices of layers (Jordan et al. 2024), and Adam for everything else."""
    matrix_rate: float = Field(2.0, gt=0)
    """Learning rate of the matrices of layers, as a multiple of the schedule's."""
    momentum: float = Field(0.95, ge=0, lt=1)
    """Decay rate of the momentum of these matrices, which is Nesterov's."""

    elementwise_beyond_layers: ClassVar[bool] = True

    @override
    def build(self, parameters: Sequence[Parameter]) -> Optimizer:
        return Muon(self, parameters)


class Muon(Adam):
    """``W <- W - rate * 0.2 * sqrt(max(rows, columns)) * orthogonal(momentum)``.

    Weight decay is decoupled for all parameters, as in AdamW.
    """

    def __init__(self, config: MuonConfig, parameters: Sequence[Parameter]) -> None:
        self._muon = config
        shared = {name: getattr(config, name) for name in MomentsConfig.model_fields}
        adam = AdamConfig(**{**shared, "kind": "adamw", "weight_decay": config.weight_decay})
        super().__init__(adam, parameters)

    @override
    def reset(self) -> None:
        super().reset()
        for index, parameter in enumerate(self.parameters):
            if isinstance(parameter, LayerMatrix):
                self.state[index] = {"momentum": torch.zeros_like(parameter.values)}

    @override
    def update(
        self, parameter: Parameter, gradient: Tensor, state: dict[str, Tensor], learning_rate: float
    ) -> None:
        if not isinstance(parameter, LayerMatrix):
            super().update(parameter, gradient, state, learning_rate)
            return
        values, config = parameter.values, self._muon
        rate = learning_rate * config.matrix_rate
        momentum = state["momentum"].lerp_(gradient, 1 - config.momentum)
        direction = orthogonal(gradient.lerp(momentum, config.momentum))
        values.mul_(1 - rate * config.weight_decay)
        values.sub_(direction, alpha=rate * _ADAMS_SIZE * max(values.shape) ** 0.5)


def orthogonal(matrix: Tensor) -> Tensor:
    """The matrix with singular values near 1 in place of its own, by Newton-Schulz iterations.

    ``X <- a X + (b A + c A A) X`` with ``A = X X^T``, from ``X = matrix / |matrix|``.  Each
    iteration has the best polynomial for its interval (Amsel et al. 2025, "The Polar Express",
    arXiv:2505.16932), so that 3 of them do the work of Muon's original 5, which take twice the
    time.

    Computed in bfloat16 where the hardware has it: rounding changes less than the inaccuracy of
    the iterations does.
    """
    x = matrix.bfloat16() if computes_bfloat16(matrix.device) else matrix
    is_tall = x.shape[0] > x.shape[1]
    if is_tall:  # the products of rows are then the smaller ones
        x = x.T
    x = x / (_MARGIN * x.norm().clamp(min=_SMALLEST_NORM))
    for a, b, c in _POLYNOMIALS:
        products = x @ x.T
        x = torch.addmm(x, torch.addmm(products, products, products, beta=b, alpha=c), x, beta=a)
    return (x.T if is_tall else x).to(matrix.dtype)
